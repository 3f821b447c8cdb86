import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { listOf } from '../../../platform/json.ts'
import { openaiChat } from './codec.ts'

const tooLong = "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens."
const raw = (error: unknown) => ({
  message: 'Provider returned error',
  code: 400,
  metadata: { provider_name: 'P', raw: error },
})

const table: readonly (readonly [string, number, unknown, string, string, string?])[] = [
  [
    'OpenAI’s shape',
    400,
    { error: { message: 'Bad', type: 'invalid_request_error', param: 'x', code: null } },
    'invalid_request',
    'Bad',
  ],
  [
    'a bad key',
    401,
    { error: { message: 'Incorrect API key', code: 'invalid_api_key' } },
    'unauthorized',
    'Incorrect API key',
  ],
  ['no credit', 402, { error: { message: 'Pay' } }, 'budget_exceeded', 'Pay'],
  ['an unknown model', 404, { error: { message: 'No model', code: 'model_not_found' } }, 'not_found', 'No model'],
  ['a body that fits nothing', 422, { unknown: 1 }, 'invalid_request', 'upstream returned status 422'],
  [
    'a rate limit',
    429,
    { error: { message: 'Too many tokens per min', code: 'rate_limit_exceeded' } },
    'rate_limited',
    'Too many tokens per min',
  ],
  ['text in error', 500, { error: 'out of memory' }, 'internal', 'out of memory'],
  ['text in message', 503, { message: 'busy' }, 'overloaded', 'busy'],
  ['text in detail', 400, { detail: 'no' }, 'invalid_request', 'no'],
  [
    'a list in detail',
    422,
    { detail: [{ loc: ['body', 'n'], msg: 'too big' }, { msg: 'odd' }] },
    'invalid_request',
    'body.n: too big; odd',
  ],
  ['a list around it', 400, [{ error: { message: 'Bad' } }], 'invalid_request', 'Bad'],
  ['plain text', 502, ' gone\n away ', 'upstream_unreachable', 'gone away'],
  [
    'a page',
    504,
    '<!doctype html><html><head><title>504 Gateway\nTimeout</title></head>',
    'upstream_timeout',
    '504 Gateway Timeout',
  ],
  ['words that end in a bracket', 400, 'bad value at [0]', 'invalid_request', 'bad value at [0]'],
  ['nothing', 529, '', 'overloaded', 'upstream returned status 529'],
  ['an odd status', 599, null, 'upstream_unreachable', 'upstream returned status 599'],
  ['JSON in a message', 400, { error: { message: '{"error":{"message":"Inner"}}' } }, 'invalid_request', 'Inner'],
  ['JSON after text', 400, { error: { message: 'Failed: {"message":"Inner"}' } }, 'invalid_request', 'Inner'],
  [
    'a router',
    502,
    { error: raw('{"error":{"message":"Down"}}') },
    'upstream_unreachable',
    'Provider returned error: Down',
  ],
  ['a router over a page', 502, { error: raw('<html></html>') }, 'upstream_unreachable', 'Provider returned error'],
  [
    'a prompt too long, by code',
    400,
    { error: { message: 'Long', code: 'context_length_exceeded' } },
    'invalid_request',
    'Long',
    'context_window',
  ],
  ['a prompt too long, by message', 400, { error: { message: tooLong } }, 'invalid_request', tooLong, 'context_window'],
  [
    'a prompt too long, at llama.cpp',
    400,
    { error: { message: 'Exceeds', type: 'exceed_context_size_error' } },
    'invalid_request',
    'Exceeds',
    'context_window',
  ],
  [
    'a prompt too long, behind a router',
    400,
    { error: raw('{"message":"x","code":"context_length_exceeded"}') },
    'invalid_request',
    'Provider returned error: x',
    'context_window',
  ],
  [
    'a limit too large, which is not a prompt too long',
    400,
    { error: { message: 'max_tokens is too large: 9' } },
    'invalid_request',
    'max_tokens is too large: 9',
  ],
  [
    'Azure’s filter',
    400,
    { error: { message: 'No', code: 'content_filter', innererror: { code: 'ResponsibleAIPolicyViolation' } } },
    'invalid_request',
    'No',
    'policy',
  ],
  [
    'OpenAI’s policy',
    400,
    { error: { message: 'No', code: 'content_policy_violation' } },
    'invalid_request',
    'No',
    'policy',
  ],
  [
    'a flagged prompt',
    403,
    { error: { message: 'your input was flagged', code: 403 } },
    'forbidden',
    'your input was flagged',
    'policy',
  ],
]

for (const [what, status, body, code, message, reason] of table) {
  test(`E2: ${what} becomes a plain message`, () => {
    assert.deepEqual(openaiChat.problem(status, body), { code, message, ...(reason !== undefined && { reason }) })
  })
}

test('E2: no error body throws, gives an empty message or leaves JSON in the message', () => {
  const inner = fc.jsonValue().map(value => JSON.stringify(value))
  const words = fc.oneof(fc.string(), inner, fc.jsonValue())
  const body = fc.oneof(fc.record({ error: fc.record({ message: words, metadata: fc.record({ raw: words }) }) }), words)
  fc.assert(
    fc.property(fc.integer({ min: 400, max: 599 }), body, (status, given) => {
      const { message } = openaiChat.problem(status, given)
      assert.ok(message.length > 0 && message.length <= 1000)
      assert.equal(listOf(jsonOf(message)).length, 0)
    }),
  )
})

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
