import assert from 'node:assert/strict'
import { test } from 'node:test'
import { send } from '../support/service/send.ts'
import { startService } from '../support/service/service.ts'
import { answersInTime } from './beside.ts'

const service = await startService({ config: JSON.stringify({ demo: true }) })
const blanks = ' '.repeat(2_000)

const prompts: readonly (readonly [what: string, prompt: string])[] = [
  ['2 KB of spaces after a request', `run x${blanks}`],
  ['spaces before the last word', `run x${blanks.slice(10)}y`],
  ['spaces and full stops', `create a.txt that says ${'. '.repeat(1_000)}`],
  ['requests without an end', 'create a '.repeat(250)],
  ['names of files without an end', `read ${'a.'.repeat(1_000)}`],
  ['quotes that stay open', 'write \u201c'.repeat(280)],
]

for (const [what, content] of prompts) {
  test(`the scripted model answers in time: ${what}`, () =>
    answersInTime(service, async () => {
      const body = { model: 'demo', max_tokens: 100, messages: [{ role: 'user', content }] }
      const answers = await Promise.all(Array.from({ length: 5 }, () => send(service, 'POST /v1/messages', { body })))
      assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]))
    }))
}

test('the name of a model is bounded', async () => {
  const body = { model: 'claude'.repeat(100_000), max_tokens: 1, messages: [{ role: 'user', content: 'x' }] }
  await answersInTime(service, async () => {
    assert.equal((await send(service, 'POST /v1/messages', { body })).status, 400)
  })
})
