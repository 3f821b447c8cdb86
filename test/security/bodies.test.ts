import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { allRoutes } from '../../src/contract/api.ts'
import { examples } from '../../src/contract/examples/all.ts'
import { filled, sampleId } from '../../src/contract/examples/example.ts'
import type { Route } from '../../src/contract/route.ts'
import { send } from '../support/service/send.ts'
import { startService } from '../support/service/service.ts'

const service = await startService()

/** Webhooks admit their senders first, and answer for themselves in `test/e2e/webhooks.test.ts`. */
const withBody = allRoutes.filter(({ body, access }) => body && access !== 'webhook')
const lineOf = ({ method, path }: Route) =>
  `${method} ${path.replaceAll('{version}', '1').replaceAll(/\{\w+\}/g, 'nothing_1')}`
const exampleOf = ({ id }: Route) => JSON.stringify(filled(examples[id]?.body ?? {}, sampleId))

const otherTypes = [
  'text/plain',
  'text/json',
  'application/jsonx',
  'application/json5',
  'application/json-patch+json',
  'application/problem+json',
  'application/json, text/plain',
  'application/x-ndjson',
  'multipart/mixed; boundary=x',
  'json',
  ';application/json',
]

for (const route of withBody) {
  test(`S26: ${route.id}: a body of another type or encoding is 415`, async () => {
    const sent = async (headers: Record<string, string>, body: string | Buffer = exampleOf(route)) =>
      (await send(service, lineOf(route), { headers, body })).status
    for (const type of otherTypes) assert.equal(await sent({ 'content-type': type }), 415, type)
    const type = { 'content-type': route.consumes ?? 'application/json' }
    for (const encoding of ['gzip', 'br', 'deflate', 'GZIP', 'identity, gzip', 'x'])
      assert.equal(await sent({ ...type, 'content-encoding': encoding }, gzipSync('{}')), 415, encoding)
  })

  test(`S26: ${route.id}: no spelling of application/json skips the check of the body`, async () => {
    // None of them is valid JSON, so that only a body which is not parsed gets through.
    const statusOf = async (type: string) =>
      (await send(service, lineOf(route), { headers: { 'content-type': type }, body: '{"a":' })).status
    const plain = await statusOf('application/json')
    // An error of JSON-RPC is in the body.
    assert.ok(route.errorShape === 'a2a-rpc' || (plain >= 400 && plain < 500), String(plain))
    for (const type of [
      'APPLICATION/JSON',
      'application/json;',
      'application/json ; charset=utf-8',
      'application/json\t;charset=utf-8',
      'application/json; charset=utf-16',
      'application/json; charset="utf-8"; x=y',
      ' application/json ',
      'application/json;application/xml',
    ])
      assert.equal(await statusOf(type), plain, type)
  })
}

/** Calls of models whose body reaches an upstream as it is: a doubled key could mean something else there. */
const modelCalls: readonly (readonly [line: string, body: string])[] = [
  ['POST /v1/messages', '"messages":[{"role":"user","content":"x"}]'],
  ['POST /messages', '"messages":[{"role":"user","content":"x"}]'],
  ['POST /v1/messages/count_tokens', '"messages":[{"role":"user","content":"x"}]'],
  ['POST /v1/chat/completions', '"messages":[{"role":"user","content":"x"}]'],
  ['POST /openai/deployments/demo/chat/completions', '"messages":[{"role":"user","content":"x"}]'],
  ['POST /v1/responses', '"input":"x"'],
  ['POST /v1/responses/input_tokens', '"input":"x"'],
  ['POST /v1/responses/compact', '"input":"x"'],
  ['POST /v1/embeddings', '"input":"x"'],
  ['POST /v1/completions', '"prompt":"x"'],
  ['POST /anthropic/v1/messages', '"messages":[{"role":"user","content":"x"}]'],
  ['POST /openai/v1/chat/completions', '"messages":[{"role":"user","content":"x"}]'],
]
const doubledIn = (line: string): readonly (readonly [key: string, first: string, second: string])[] => [
  ['model', '"demo"', '"dear"'],
  [line.includes('/responses') ? 'max_output_tokens' : 'max_tokens', '1', '999999'],
  ['stream', 'false', 'true'],
]
const escapes = (key: string): readonly string[] => [
  key,
  `\\u00${key.charCodeAt(0).toString(16)}${key.slice(1)}`,
  `${key.slice(0, -1)}\\u00${key
    .charCodeAt(key.length - 1)
    .toString(16)
    .toUpperCase()}`,
]

for (const [line, rest] of modelCalls) {
  test(`S26: ${line}: a doubled model, limit of tokens or stream is 400, plain and with escapes`, async () => {
    const doubled = doubledIn(line)
    for (const [key, first, second] of doubled)
      for (const spelling of escapes(key)) {
        const others = doubled.filter(([other]) => other !== key).map(([other, value]) => `"${other}":${value}`)
        for (const pair of [
          [`"${key}":${first}`, `"${spelling}":${second}`],
          [`"${spelling}":${second}`, `"${key}":${first}`],
        ]) {
          const body = `{${[pair[0], ...others, rest, pair[1]].join(',')}}`
          const answer = await send(service, line, { headers: { 'content-type': 'application/json' }, body })
          assert.equal(answer.status, 400, `${body}: ${answer.text}`)
          assert.match(answer.text, /twice/, `${body}: ${answer.text}`)
        }
      }
  })
}

/** Members that the gateway reads, checks or replaces on the way to some upstream. */
const read = {
  messages: '[{"role":"user","content":"y"}]',
  input: '"y"',
  prompt: '"y"',
  system: '"y"',
  instructions: '"y"',
  tools: '[]',
  tool_choice: '"auto"',
  metadata: '{}',
  thinking: '{"type":"disabled"}',
  temperature: '1',
  stop: '["a"]',
  stream_options: '{"include_usage":true}',
  max_completion_tokens: '5',
  response_format: '{"type":"text"}',
  previous_response_id: '"resp_x"',
  store: 'false',
  user: '"u"',
  n: '1',
  cache_control: '{"type":"ephemeral"}',
}

for (const [line, rest] of modelCalls) {
  test(`S26: ${line}: no doubled member ends in an error of the service`, async () => {
    for (const [key, value] of Object.entries(read)) {
      const body = `{"model":"demo","${key}":${value},"max_tokens":9,${rest},"${key}":${value}}`
      const answer = await send(service, line, { headers: { 'content-type': 'application/json' }, body })
      assert.ok(answer.status < 500, `${body}: ${answer.text}`)
    }
  })
}

test('S26: a doubled generationConfig or maxOutputTokens of Gemini is 400', async () => {
  const contents = '"contents":[{"role":"user","parts":[{"text":"x"}]}]'
  const config = '"generationConfig":{"maxOutputTokens":1}'
  for (const body of [
    `{${config},${contents},"generationConfig":{"maxOutputTokens":99999}}`,
    `{${config},${contents},"generation_config":{"maxOutputTokens":99999}}`,
    `{${config},${contents},"generation\\u0043onfig":{"maxOutputTokens":99999}}`,
    `{"generationConfig":{"maxOutputTokens":1,"maxOutputTokens":99999},${contents}}`,
    `{"generationConfig":{"maxOutputTokens":1,"max_output_tokens":99999},${contents}}`,
    `{"generationConfig":{"maxOutputTokens":1,"max\\u004futputTokens":99999},${contents}}`,
  ]) {
    const headers = { 'content-type': 'application/json' }
    const answer = await send(service, 'POST /v1beta/models/demo:generateContent', { headers, body })
    assert.equal(answer.status, 400, `${body}: ${answer.text}`)
  }
})

test('S26: a doubled limit of Bedrock is 400', async () => {
  const messages = '"messages":[{"role":"user","content":[{"text":"x"}]}]'
  for (const body of [
    `{"inferenceConfig":{"maxTokens":9},${messages},"inferenceConfig":{"maxTokens":99999}}`,
    `{"inferenceConfig":{"maxTokens":9,"maxTokens":99999},${messages}}`,
    `{"inferenceConfig":{"maxTokens":9,"max\\u0054okens":99999},${messages}}`,
    `{"max_tokens":9,${messages},"max\\u005ftokens":99999}`,
  ]) {
    const headers = { 'content-type': 'application/json' }
    const answer = await send(service, 'POST /bedrock/model/demo/converse', { headers, body })
    assert.equal(answer.status, 400, `${body}: ${answer.text}`)
    assert.match(answer.text, /twice/, `${body}: ${answer.text}`)
  }
})
