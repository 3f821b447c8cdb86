import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startPair } from './setup.ts'

const numbers = (count: number) => `[${'0,'.repeat(count - 1)}0]`
const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)

/** A body of each format, with an unknown field. */
const calls: Readonly<Record<string, string>> = {
  '/v1/messages': '"model":"test-model","max_tokens":9,"messages":[{"role":"user","content":"hi"}]',
  '/v1/messages/count_tokens': '"model":"test-model","messages":[{"role":"user","content":"hi"}]',
  '/v1/chat/completions': '"model":"test-model","messages":[{"role":"user","content":"hi"}]',
  '/v1/responses': '"model":"test-model","input":"hi"',
  '/v1/responses/compact': '"model":"test-model","input":"hi"',
  '/v1beta/models/test-model:generateContent': '"contents":[{"role":"user","parts":[{"text":"hi"}]}]',
  '/v1/moderations': '"model":"test-model","input":"hi"',
}

for (const protocol of ['anthropic-messages', 'openai-chat'] as const) {
  test(`E11, ${protocol}: a body of too many values or levels is rejected before anything is made of it`, async t => {
    const { app, upstream } = await startPair(t, protocol, { script: [{}] })
    for (const [path, fields] of Object.entries(calls)) {
      const said = async (odd: string) => {
        const init = {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: `{${fields},"odd":${odd}}`,
        }
        const answer = await fetch(app.url + path, init)
        return [answer.status, /"message":"([^"]+)/.exec(await answer.text())?.[1]]
      }
      const before = upstream.requests.length + upstream.countRequests.length
      assert.deepEqual(await said(numbers(500_001)), [400, 'request body has more than 500000 values'], path)
      assert.deepEqual(await said(nested(500_000)), [400, 'request body is nested deeper than 500 levels'], path)
      assert.equal(upstream.requests.length + upstream.countRequests.length, before)
    }
  })

  test(`E11, ${protocol}: a body within both bounds is served, deep and wide ones too`, async t => {
    const { app } = await startPair(t, protocol, { script: [{}] })
    for (const odd of [numbers(499_000), nested(490)]) {
      for (const path of ['/v1/messages', '/v1/chat/completions', '/v1/responses']) {
        const init = {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: `{${calls[path]},"tools":[],"metadata":{"odd":${odd}}}`,
        }
        const answer = await fetch(app.url + path, init)
        assert.equal(answer.status, 200, `${path}: ${await answer.text()}`)
      }
    }
  })
}
