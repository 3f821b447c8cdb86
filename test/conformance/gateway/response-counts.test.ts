import assert from 'node:assert/strict'
import { test } from 'node:test'
import { everyProtocol } from '../../support/upstream/spoken-protocols.ts'
import { startPair, translated } from './setup.ts'

const path = '/v1/responses/input_tokens'
/** Without the fields of Anthropic's format that the helper adds. */
const counted = (more: object) => ({ messages: undefined, max_tokens: undefined, input: 'hi', ...more })

interface Count {
  readonly object: string
  readonly input_tokens: number
}

for (const protocol of everyProtocol) {
  test(`RC1, ${protocol}: an upstream without a counter gets an estimate of instructions, tools and input, unbooked`, async t => {
    const { post, app } = await startPair(t, protocol, { script: [{}], countTokens: 'absent' })
    const count = async (more: object) => {
      const response = await post(counted(more), { path })
      assert.equal(response.status, 200)
      assert.equal(response.headers.get('x-switchyard-estimated'), 'input_tokens')
      const { object, input_tokens } = (await response.json()) as Count
      assert.equal(object, 'response.input_tokens')
      return input_tokens
    }
    const plain = await count({})
    assert.ok(plain > 0)
    const look = { type: 'function', name: 'look', parameters: { type: 'object', properties: {} } }
    for (const more of [{ instructions: 'be brief' }, { tools: [look] }, { input: 'a longer question about the sea' }])
      assert.ok((await count(more)) > plain, JSON.stringify(more))
    assert.equal(app.booked.length, 0)
  })

  test(`RC2, ${protocol}: a malformed count is rejected in OpenAI's envelope and reaches no upstream`, async t => {
    const { post, upstream } = await startPair(t, protocol, { script: [{}] })
    for (const [more, message] of [
      [{ input: undefined }, 'input is required'],
      [{ input: 5 }, 'input must be a string or an array'],
      [{ model: 5 }, 'model must be a string'],
    ] as const) {
      const response = await post(counted(more), { path })
      const { error } = (await response.json()) as { error: { message: string; type: string } }
      assert.deepEqual([response.status, error.message, error.type], [400, message, 'invalid_request_error'])
    }
    assert.equal(upstream.countRequests.length + upstream.requests.length, 0)
  })
}

for (const protocol of ['anthropic-messages', ...translated.filter(name => name !== 'openai-chat')] as const) {
  test(`RC3, ${protocol}: the upstream's own counter is asked, and its figure is exact`, async t => {
    const { post, upstream, app } = await startPair(t, protocol, { script: [{}], countTokens: 4321 })
    const response = await post(counted({ instructions: 'be brief' }), { path })
    const answer = (await response.json()) as Count
    assert.deepEqual([answer.object, answer.input_tokens], ['response.input_tokens', 4321])
    assert.equal(response.headers.get('x-switchyard-estimated'), null)
    assert.deepEqual([upstream.countRequests.length, app.booked.length], [1, 0])
  })
}
