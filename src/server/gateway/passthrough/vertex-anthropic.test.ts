import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deploymentAt, targetAt } from '../../../../test/support/gateway/gateway-app.ts'
import type { Call, CallKind } from '../core/call.ts'
import { readRequest } from '../core/request.ts'
import { anthropicMessages } from './anthropic-messages.ts'
import type { PassthroughFormat } from './passthrough-format.ts'
import { vertexAnthropic } from './vertex-anthropic.ts'

const google = { project: 'my-project', location: 'europe-west4', serviceAccount: undefined }
const deployment = deploymentAt('https://aiplatform.googleapis.com', {
  provider: 'vertex',
  protocols: ['vertex-anthropic'],
  upstreamModel: 'claude-opus-5-5@20260901',
  google,
})

interface Part {
  readonly format?: PassthroughFormat
  readonly kind?: CallKind
  readonly headers?: Call['headers']
  readonly at?: Partial<typeof deployment>
}

function requestOf(body: string, { format = vertexAnthropic, kind = 'messages', headers = {}, at = {} }: Part = {}) {
  const bytes = Buffer.from(body)
  const call = {
    kind,
    body: bytes,
    headers,
    query: '?beta=true',
    requestId: 'req_1',
    caller: { principal: 'k', key: undefined },
  }
  const parsed = readRequest(call)
  const target = targetAt({ ...deployment, ...at })
  const attempt = {
    call: { ...call, signal: new AbortController().signal },
    parsed,
    target,
    ownHeaders: {},
    startedMs: 0,
  }
  const request = format.request(attempt)
  return { ...request, body: request.body.toString() }
}

const rest = '"max_tokens" : 1e1, "messages":[{"role":"user","content":"\\u00e9"}]'
const models = '/v1/projects/my-project/locations/europe-west4/publishers/anthropic/models'

test('Vertex: the path names the model, the body gains the version, and every other byte is kept', () => {
  const whole = requestOf(`{"model":"claude", ${rest}}`)
  assert.equal(whole.path, `${models}/claude-opus-5-5@20260901:rawPredict`)
  assert.equal(whole.body, `{"anthropic_version":"vertex-2023-10-16",${rest}}`)
  const streamed = requestOf(`{ ${rest},"stream":true,"model":"claude"}`)
  assert.equal(streamed.path, `${models}/claude-opus-5-5@20260901:streamRawPredict`)
  assert.equal(streamed.body, `{"anthropic_version":"vertex-2023-10-16", ${rest},"stream":true}`)
  assert.deepEqual([whole.degraded, streamed.degraded], [[], []])
})

test('Vertex: a count is sent to the counter with the upstream’s model name in the body', () => {
  const betas = ['web-search-2025-03-05', 'interleaved-thinking-2025-05-14', 'advanced-tool-use-2025-11-20']
  const headers = { 'anthropic-beta': betas.join(',') }
  const counted = requestOf(`{"model":"claude",${rest}}`, { kind: 'count_tokens', headers })
  assert.equal(counted.path, `${models}/count-tokens:rawPredict`)
  assert.equal(JSON.parse(counted.body).model, 'claude-opus-5-5@20260901')
  assert.equal(counted.headers['anthropic-beta'], 'interleaved-thinking-2025-05-14')
})

test('G12, G6: betas that Vertex rejects are dropped with their body fields, and both are listed', () => {
  const given = 'context-management-2025-06-27, structured-outputs-2025-11-13,advanced-tool-use-2025-11-20'
  const body = `{"model":"claude","output_format":{},"tools":[{"name":"a","strict":true},{"name":"b"}],"context_management":{},${rest}}`
  const {
    headers,
    body: sent,
    degraded,
  } = requestOf(body, { headers: { 'anthropic-beta': given, 'anthropic-version': '2026-10-21' } })
  assert.equal(headers['anthropic-beta'], 'context-management-2025-06-27,tool-search-tool-2025-10-19')
  assert.equal(headers['anthropic-version'], undefined)
  assert.equal(
    sent,
    `{"anthropic_version":"vertex-2023-10-16","tools":[{"name":"a"},{"name":"b"}],"context_management":{},${rest}}`,
  )
  assert.deepEqual(
    degraded.map(({ path, action }) => `${path}=${action}`),
    ['header.anthropic-beta.structured-outputs-2025-11-13=dropped', 'output_format=dropped', 'tools.0.strict=dropped'],
  )
})

test('G12: the deny table of a deployment replaces the default one', () => {
  const headers = { 'anthropic-beta': 'files-api-2025-04-14, context-management-2025-06-27' }
  const body = `{"model":"claude","context_management":{},"metadata":{},${rest}}`
  const at = { deny: ['header:context-management-2025-06-27', 'metadata'] }
  const { headers: sent, degraded } = requestOf(body, { headers, at })
  assert.equal(sent['anthropic-beta'], 'files-api-2025-04-14')
  assert.deepEqual(
    degraded.map(({ path }) => path),
    ['header.anthropic-beta.context-management-2025-06-27', 'context_management', 'metadata'],
  )
  assert.ok(
    !('anthropic-beta' in requestOf(body, { headers: { 'anthropic-beta': 'x' }, at: { deny: ['header:x'] } }).headers),
  )
})

test('a deny table also applies to compatible servers; without one the request is not changed', () => {
  const body = `{"model":"claude","metadata":{"user_id":"u"},${rest}}`
  const headers = { 'anthropic-beta': 'one ,two' }
  const plain = requestOf(body, { format: anthropicMessages, headers, at: { protocols: ['anthropic-messages'] } })
  assert.equal(plain.body, body.replace('"claude"', '"claude-opus-5-5@20260901"'))
  assert.equal(plain.headers['anthropic-beta'], 'one ,two')
  const at = { protocols: ['anthropic-messages'], deny: ['metadata.user_id', 'header:two'] } as const
  const denied = requestOf(body, { format: anthropicMessages, headers, at })
  assert.deepEqual(JSON.parse(denied.body).metadata, {})
  assert.equal(denied.headers['anthropic-beta'], 'one')
})

test('K4: thinking without a signature is removed for Vertex', () => {
  const body = `{"model":"c","max_tokens":1,"messages":[{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"a"}]}]}`
  const { body: sent, degraded } = requestOf(body)
  assert.deepEqual(JSON.parse(sent).messages[0].content, [{ type: 'text', text: 'a' }])
  assert.deepEqual(degraded, [{ path: 'messages.0.content.0', action: 'dropped' }])
})

test('E2: Google’s own errors are put into Anthropic’s envelope; Claude’s errors are not changed', () => {
  const translated = (body: string) =>
    vertexAnthropic.translateError?.(Buffer.from(body), { status: 403, requestId: 'req_1' }).toString()
  const own = '{"type":"error", "error":{"type":"x","message":"y"}}'
  assert.equal(translated(own), own)
  const google = '{"error":{"code":403,"message":"Permission denied","status":"PERMISSION_DENIED"}}'
  const expected =
    '{"type":"error","error":{"type":"permission_error","message":"Permission denied"},"request_id":"req_1"}'
  assert.equal(translated(google), expected)
  assert.equal(translated(`[${google}]`), expected)
  assert.match(translated('<html>') ?? '', /the upstream answered with status 403/)
})
