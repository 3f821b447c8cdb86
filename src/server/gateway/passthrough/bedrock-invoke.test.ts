import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { deploymentAt, targetAt } from '../../../../test/support/gateway/gateway-app.ts'
import { readStream } from '../../../../test/support/sessions/event-grammar.ts'
import { awsEvent, awsException, awsFrame } from '../../../../test/support/upstream/dialects/aws-frame.ts'
import { EventStreamError } from '../bytes/aws-event-stream.ts'
import type { Call, CallKind } from '../core/call.ts'
import { readRequest } from '../core/request.ts'
import { bedrockInvoke } from './bedrock-invoke.ts'

const claude = 'eu.anthropic.claude-sonnet-4-5-20250929-v1:0'
const selfPaced = 'us.anthropic.claude-opus-4-6-v1'
const newest = 'global.anthropic.claude-opus-5-5'

interface Part {
  readonly model?: string
  readonly kind?: CallKind
  readonly beta?: string
  readonly deny?: readonly string[]
}

function requestOf(body: string, { model = claude, kind = 'messages', beta, deny }: Part = {}) {
  const headers: Call['headers'] = {
    authorization: 'Bearer client-key',
    'anthropic-version': '2023-06-01',
    'x-claude-code-session-id': 's1',
    ...(beta !== undefined && { 'anthropic-beta': beta }),
  }
  const bytes = Buffer.from(body)
  const call = {
    kind,
    body: bytes,
    headers,
    query: '?beta=true',
  }
  const deployment = deploymentAt('https://bedrock-runtime.eu-west-1.amazonaws.com', {
    provider: 'bedrock',
    protocols: ['bedrock-invoke'],
    ...(deny && { deny }),
  })
  const { degraded, ...request } = bedrockInvoke.request({
    call,
    parsed: readRequest(call),
    target: targetAt(deployment, model),
  })
  return { ...request, body: request.body.toString(), degraded: degraded.map(one => `${one.path}=${one.action}`) }
}

const rest = '"max_tokens" : 1e1, "messages":[{"role":"user","content":"\\u00e9"}]'
const version = '"anthropic_version":"bedrock-2023-05-31"'

test('R3, G12: the body loses model and stream, gains the version, and keeps every other byte', () => {
  const whole = requestOf(`{"model":"claude", ${rest}, "stream":false }`)
  assert.equal(whole.path, '/model/eu.anthropic.claude-sonnet-4-5-20250929-v1%3A0/invoke')
  assert.equal(whole.body, `{${version},${rest} }`)
  const streamed = requestOf(`{ ${rest},"stream":true,"model":"claude"}`, { model: 'arn:aws:bedrock:x/y' })
  assert.equal(streamed.path, '/model/arn%3Aaws%3Abedrock%3Ax%2Fy/invoke-with-response-stream')
  assert.equal(streamed.body, `{${version}, ${rest}}`)
  assert.deepEqual([whole.degraded, streamed.degraded], [[], []])
})

test('G2, G12: betas of the header are appended to those of the body', () => {
  const beta = 'interleaved-thinking-2025-05-14, context-1m-2025-08-07'
  const { headers, body } = requestOf(`{"model":"c","anthropic_beta":["computer-use-2025-01-24"],${rest}}`, { beta })
  assert.deepEqual(JSON.parse(body).anthropic_beta, [
    ...['computer-use-2025-01-24', 'interleaved-thinking-2025-05-14', 'context-1m-2025-08-07'],
  ])
  assert.deepEqual(Object.keys(headers).sort(), ['accept-encoding', 'content-type', 'user-agent'])
})

const deniedCases: readonly (readonly [string, string, string, Part, readonly string[]])[] = [
  [
    'a denied beta is dropped together with its body fields',
    `{"model":"c","context_management":{"edits":[]},${rest}}`,
    `{${version},${rest}}`,
    { beta: 'context-management-2025-06-27' },
    ['header.anthropic-beta.context-management-2025-06-27=dropped', 'context_management=dropped'],
  ],
  [
    'the scope of a cache mark is dropped everywhere, the mark is kept',
    `{"model":"c","system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral","scope":"global"}}],${rest}}`,
    `{${version},"system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral"}}],${rest}}`,
    {},
    ['system.0.cache_control.scope=dropped'],
  ],
  [
    'effort and strict tools are dropped for a model that rejects them',
    `{"model":"c","output_config":{"effort":"high"},"tools":[{"name":"a","strict":true}],${rest}}`,
    `{${version},"output_config":{},"tools":[{"name":"a"}],${rest}}`,
    { model: 'anthropic.claude-sonnet-4-20250514-v1:0' },
    ['output_config.effort=dropped', 'tools.0.strict=dropped'],
  ],
  [
    'the newest model keeps effort and loses the output format',
    `{"model":"c","output_config":{"effort":"high","format":{}},${rest}}`,
    `{${version},"output_config":{"effort":"high"},${rest}}`,
    { model: newest },
    ['output_config.format=dropped'],
  ],
  [
    'a model in between keeps both',
    `{"model":"c","output_config":{"effort":"high","format":{}},${rest}}`,
    `{${version},"output_config":{"effort":"high","format":{}},${rest}}`,
    { model: selfPaced },
    [],
  ],
  [
    'tool search gets the name of its own beta',
    `{"model":"c","tools":[{"type":"tool_search_tool_regex_20251119"}],${rest}}`,
    `{"anthropic_version":"bedrock-2023-05-31","anthropic_beta":["tool-search-tool-2025-10-19"],"tools":[{"type":"tool_search_tool_regex_20251119"}],${rest}}`,
    { beta: 'advanced-tool-use-2025-11-20' },
    [],
  ],
]

for (const [name, body, expected, part, degraded] of deniedCases) {
  test(`G6: ${name}`, () => {
    const found = requestOf(body, part)
    assert.equal(found.body, expected)
    assert.deepEqual(found.degraded, degraded)
  })
}

test('G12: the deny table of a deployment replaces the default one', () => {
  const body = `{"model":"c","context_management":{},"metadata":{"user_id":"u"},${rest}}`
  const found = requestOf(body, { beta: 'x-beta,y-beta', deny: ['metadata', 'header:y-beta'] })
  assert.deepEqual(JSON.parse(found.body).anthropic_beta, ['x-beta'])
  assert.deepEqual(found.degraded, ['header.anthropic-beta.y-beta=dropped', 'metadata=dropped'])
})

test('K4: thinking without a signature never reaches Claude', () => {
  const messages = '[{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"a"}]}]'
  const { body, degraded } = requestOf(`{"model":"c","max_tokens":1,"messages":${messages}}`)
  assert.deepEqual(JSON.parse(body).messages[0].content, [{ type: 'text', text: 'a' }])
  assert.deepEqual(degraded, ['messages.0.content.0=dropped'])
})

test('C5: a count sends the whole request to the counter and reads its response', () => {
  const body = '{"model":"c","system":"s","messages":[{"role":"user","content":"x"}]}'
  const { path, body: sent } = requestOf(body, { kind: 'count_tokens' })
  assert.equal(path, '/model/eu.anthropic.claude-sonnet-4-5-20250929-v1%3A0/count-tokens')
  const inner = JSON.parse(Buffer.from(JSON.parse(sent).input.invokeModel.body, 'base64').toString())
  assert.deepEqual(inner, {
    anthropic_version: 'bedrock-2023-05-31',
    max_tokens: 64_000,
    system: 's',
    messages: [{ role: 'user', content: 'x' }],
  })
  assert.equal(bedrockInvoke.translateCount?.(Buffer.from('{"inputTokens":42}')).toString(), '{"input_tokens":42}')
})

const errors = [
  [400, '{"message":"Input is too long"}', 'invalid_request_error', 'Input is too long'],
  [403, '{"Message":"The security token is expired"}', 'permission_error', 'The security token is expired'],
  [429, '{"message":"Too many requests"}', 'rate_limit_error', 'Too many requests'],
  [424, '{"message":"Model failed","originalStatusCode":500}', 'api_error', 'Model failed'],
  [502, '<html>', 'api_error', 'Amazon Bedrock answered with status 502'],
] as const

for (const [status, body, type, message] of errors) {
  test(`E2: an error with status ${status} keeps its message in Anthropic's envelope`, () => {
    const translated = bedrockInvoke.translateError?.(Buffer.from(body), { status, requestId: 'req_1' })
    const expected = { type: 'error', error: { type, message }, request_id: 'req_1' }
    assert.deepEqual(JSON.parse(translated?.toString() ?? ''), expected)
  })
}

const chunk = (json: string): Buffer => awsEvent('chunk', { bytes: Buffer.from(json).toString('base64'), p: 'abcdef' })

const events = [
  '{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":3,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":1}}}',
  '{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}',
  '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"gr\\u00fc\\u00dfe é 😀 1.0"}}',
  '{"type":"content_block_stop","index":0}',
  '{"index":0,"type":"something_new","big":123456789012345678901234567890}',
  '{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":9}}',
  '{"type":"message_stop","amazon-bedrock-invocationMetrics":{"inputTokenCount":3,"outputTokenCount":9}}',
]

test('R1, R2: the unwrapped events keep their text for any split of the stream', () => {
  const bytes = Buffer.concat(events.map(chunk))
  const expected = events.map(json => `event: ${JSON.parse(json).type}\ndata: ${json}\n\n`).join('')
  fc.assert(
    fc.property(fc.array(fc.nat(bytes.length)), ends => {
      const unwrap = bedrockInvoke.createUnwrap?.()
      assert.ok(unwrap)
      const cuts = [0, ...ends.toSorted((a, b) => a - b), bytes.length]
      const pieces = cuts.slice(1).flatMap((end, index) => [...unwrap(bytes.subarray(cuts[index], end))])
      assert.equal(Buffer.concat(pieces).toString(), expected)
      const tap = bedrockInvoke.createTap()
      for (const piece of pieces) tap.push(piece)
      assert.deepEqual([tap.end, tap.usage.input_tokens, tap.usage.output_tokens], ['stop', 3, 9])
    }),
  )
  readStream(expected.replace(/event: something_new.*\n.*\n\n/, ''))
})

test('JSON with line breaks is one event', () => {
  const [frame] = bedrockInvoke.createUnwrap?.()(chunk('{\n  "type": "ping"\r\n}')) ?? []
  assert.equal(frame?.toString(), 'event: ping\ndata: {\ndata:   "type": "ping"\ndata: }\n\n')
})

test('E5: an exception in the stream becomes one error event', () => {
  const exception = awsException('throttlingException', 'Too many tokens')
  const [frame, ...more] = bedrockInvoke.createUnwrap?.()(exception) ?? []
  const error = { type: 'rate_limit_error', message: 'Too many tokens' }
  assert.equal(frame?.toString(), `event: error\ndata: ${JSON.stringify({ type: 'error', error })}\n\n`)
  assert.deepEqual(more, [])
  const tap = bedrockInvoke.createTap()
  tap.push(frame ?? Buffer.alloc(0))
  assert.equal(tap.end, 'error')
})

test('F17: other events and payloads are skipped, and bytes that are not an event stream throw', () => {
  const odd = ['{', '{}', '{"bytes":5}'].map(data =>
    awsFrame({ ':event-type': 'chunk', ':message-type': 'event' }, data),
  )
  const others = [awsEvent('new', {}), ...odd]
  assert.deepEqual(bedrockInvoke.createUnwrap?.()(Buffer.concat(others)), [])
  assert.throws(() => bedrockInvoke.createUnwrap?.()(Buffer.from('event: message_start\n\n')), EventStreamError)
})
