import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openaiResponses } from './codec.ts'

const { problem } = openaiResponses

const codes = [
  [400, 'invalid_request'],
  [401, 'unauthorized'],
  [402, 'budget_exceeded'],
  [403, 'forbidden'],
  [404, 'not_found'],
  [408, 'upstream_timeout'],
  [413, 'payload_too_large'],
  [422, 'invalid_request'],
  [429, 'rate_limited'],
  [500, 'internal'],
  [502, 'upstream_unreachable'],
  [503, 'overloaded'],
  [504, 'upstream_timeout'],
  [529, 'overloaded'],
] as const

for (const [status, code] of codes) {
  test(`E2: status ${status} of the upstream is ${code}`, () => {
    assert.deepEqual(problem(status, { error: { message: 'why' } }), { code, message: 'why' })
  })
}

const bodies = [
  ['OpenAI', { error: { message: 'why', type: 'invalid_request_error', param: null, code: null } }, 'why'],
  ['a string error', { error: 'why' }, 'why'],
  ['a bare message', { object: 'error', message: 'why', code: 400 }, 'why'],
  ['FastAPI', { detail: 'why' }, 'why'],
  ['text', 'why', 'why'],
  ['JSON in a string', { error: { message: '{"error":{"message":"why"}}' } }, 'why'],
  ['JSON in a list in a string', { error: { message: '[{"error":{"message":"why"}}]' } }, 'why'],
  [
    'a relay',
    { error: { message: 'Provider returned error', metadata: { raw: '{"error":{"message":"why"}}' } } },
    'why',
  ],
  ['text that only resembles JSON', { error: { message: '[400] why' } }, '[400] why'],
  ['a page', '<html><body>nginx</body></html>', 'upstream returned status 400'],
  ['nothing', '', 'upstream returned status 400'],
  ['null', null, 'upstream returned status 400'],
  ['an empty object', {}, 'upstream returned status 400'],
] as const

for (const [name, body, message] of bodies) {
  test(`E2: the error of ${name} becomes a plain message`, () => {
    assert.equal(problem(400, body).message, message)
  })
}

test('E10: a key in an error text is masked', () => {
  const { message } = problem(401, { error: { message: 'Incorrect API key provided: sk-proj-ab**cd. See the docs.' } })
  assert.equal(message, 'Incorrect API key provided: [key] See the docs.')
})

const reasons = [
  ['context_window', { code: 'context_length_exceeded', message: 'x' }],
  ['context_window', { message: "This model's maximum context length is 8192 tokens." }],
  ['context_window', { message: 'Your input exceeds the context window of this model.' }],
  ['policy', { code: 'content_filter', message: 'x' }],
  ['policy', { code: 'invalid_prompt', message: 'x' }],
  ['policy', { code: 'misalignment_policy_violation', message: 'x' }],
  ['policy', { code: 'x', innererror: { code: 'ResponsibleAIPolicyViolation' }, message: 'x' }],
  [undefined, { code: 'invalid_value', message: 'x' }],
] as const

for (const [reason, error] of reasons) {
  test(`an upstream error ${JSON.stringify(error)} has the reason ${reason ?? 'undefined'}`, () => {
    assert.equal(problem(400, { error }).reason, reason)
  })
}

test('a rate limit on tokens does not count as a prompt too long', () => {
  assert.equal(problem(429, { error: { message: 'too many tokens per minute' } }).reason, undefined)
})
