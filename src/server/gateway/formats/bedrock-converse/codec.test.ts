import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bedrockConverse } from './codec.ts'
import { contextFor } from './fixtures.ts'

const problems = [
  [400, { message: 'Input is too long for requested model.' }, 'invalid_request', 'context_window'],
  [400, { message: 'prompt is too long: 210000 tokens > 200000 maximum' }, 'invalid_request', 'context_window'],
  [
    400,
    {
      message: 'The model returned the following errors: input length and `max_tokens` exceed context limit: 1 + 2 > 3',
    },
    'invalid_request',
    'context_window',
  ],
  [400, { message: 'Malformed input request: #/messages/0: extraneous key [x]' }, 'invalid_request', undefined],
  [400, { Message: 'Output blocked by content filtering policy' }, 'invalid_request', 'policy'],
  [403, { message: 'The security token included in the request is expired' }, 'forbidden', undefined],
  [404, { message: 'Could not resolve the foundation model' }, 'not_found', undefined],
  [408, { message: 'Model has timed out in processing the request.' }, 'upstream_timeout', undefined],
  [413, { message: 'Too many input tokens' }, 'payload_too_large', 'context_window'],
  [424, { message: 'The model failed', originalStatusCode: 500 }, 'upstream_unreachable', undefined],
  [429, { message: 'Too many tokens per day, please wait before trying again.' }, 'rate_limited', undefined],
  [500, { message: 'The system encountered an unexpected error' }, 'internal', undefined],
  [503, { message: 'Bedrock is unable to process your request.' }, 'overloaded', undefined],
] as const

for (const [status, body, code, reason] of problems) {
  const words = Object.values(body)[0]
  test(`E1: status ${status} with "${String(words).slice(0, 40)}" is ${code}${reason ? ` for ${reason}` : ''}`, () => {
    assert.deepEqual(bedrockConverse.problem(status, body), { code, message: words, ...(reason && { reason }) })
  })
}

test('E2: a body without a message gets a default message', () => {
  for (const body of ['', '<html><body>502</body></html>', {}, null, [], { message: 5 }])
    assert.equal(bedrockConverse.problem(502, body).message, 'Amazon Bedrock returned status 502')
  const unknownPath = { Output: { __type: 'com.amazon.coral.service#UnknownOperationException' }, Version: '1.0' }
  assert.equal(bedrockConverse.problem(404, unknownPath).message, 'UnknownOperationException')
  assert.equal(bedrockConverse.problem(500, 'plain words').message, 'plain words')
})

test('a whole answer without a message is an error', () => {
  for (const body of [undefined, null, {}, { output: {} }, { output: { message: [] } }, 'x'])
    assert.equal(bedrockConverse.answer(body, contextFor()).at(-1)?.type, 'error')
})
