import assert from 'node:assert/strict'
import { test } from 'node:test'
import { geminiProblem } from './errors.ts'

const google = (status: string, message = 'It failed.', rest: object = {}) => ({ error: { status, message, ...rest } })

const codes = [
  [400, google('INVALID_ARGUMENT'), 'invalid_request'],
  [400, google('INVALID_ARGUMENT', 'API key not valid.', { details: [{ reason: 'API_KEY_INVALID' }] }), 'unauthorized'],
  [401, google('UNAUTHENTICATED'), 'unauthorized'],
  [403, google('PERMISSION_DENIED'), 'forbidden'],
  [404, google('NOT_FOUND'), 'not_found'],
  [429, [google('RESOURCE_EXHAUSTED')], 'rate_limited'],
  [500, google('INTERNAL'), 'internal'],
  [503, google('UNAVAILABLE'), 'overloaded'],
  [504, google('DEADLINE_EXCEEDED'), 'upstream_timeout'],
  [413, '<html>Too large</html>', 'payload_too_large'],
  [502, '', 'upstream_unreachable'],
  [418, {}, 'invalid_request'],
  [599, null, 'upstream_unreachable'],
] as const

for (const [status, body, code] of codes) {
  test(`E1: ${status} with ${JSON.stringify(body).slice(0, 60)} is ${code}`, () => {
    assert.equal(geminiProblem(status, body).code, code)
  })
}

test('E2: the message is plain text, also if a proxy nested the whole body in it', () => {
  const inner = JSON.stringify(google('INVALID_ARGUMENT', 'Bad field.'))
  assert.equal(geminiProblem(400, google('INVALID_ARGUMENT', inner)).message, 'Bad field.')
  assert.equal(geminiProblem(400, '{"x":1}').message, 'upstream returned status 400')
  assert.equal(geminiProblem(404, '<!doctype html><p>Not found').message, 'upstream returned status 404')
  assert.equal(geminiProblem(500, 'upstream connect error').message, 'upstream connect error')
})

const reasons = [
  ['The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).', 'context_window'],
  ['The prompt was blocked due to safety reasons.', 'policy'],
  ['Invalid JSON payload received.', undefined],
] as const

for (const [message, reason] of reasons) {
  test(`an upstream error "${message}" has the reason ${reason}`, () => {
    assert.equal(geminiProblem(400, google('INVALID_ARGUMENT', message)).reason, reason)
  })
}
