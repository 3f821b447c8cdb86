import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { holderOf } from '../support/keys/virtual-keys.ts'
import { send } from '../support/service/send.ts'
import { startService } from '../support/service/service.ts'
import { type GotRequest, type NextAnswer, startEndpointUpstream } from '../support/upstream/endpoint-upstream.ts'

const upstream = await startEndpointUpstream()
const secret = 'sk-upstream-0123456789'
const service = await startService({
  config: JSON.stringify({
    model_list: [
      { model_name: 'openai/*', params: { model: 'openai/*', api_base: `${upstream.url}/v1`, api_key: secret } },
    ],
    outbound: { allow: [new URL(upstream.url).host] },
  }),
})
after(() => upstream.stop())
const holder = await holderOf(service, { passthrough: ['openai'] })

const content = Buffer.from('0123456789abcdefghij')
const etag = '"f1"'
const described = {
  etag,
  'last-modified': 'Mon, 23 Nov 2026 00:00:00 GMT',
  'accept-ranges': 'bytes',
  'content-disposition': 'attachment; filename="batch.jsonl"',
}

/** A file that can be read in parts, as storage serves it. */
function fileAt({ headers }: GotRequest): NextAnswer {
  const own = { ...described, 'set-cookie': 'a=b', 'cache-control': 'public', 'openai-organization': 'org-operator' }
  if (headers['if-none-match'] === etag) return { status: 304, headers: own, body: '' }
  const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(headers.range ?? '') ?? []
  if (from === undefined || to === undefined)
    return { type: 'application/jsonl', headers: { ...own, 'content-length': '20' }, body: content }
  const part = content.subarray(Number(from), Number(to) + 1)
  const range = { 'content-range': `bytes ${from}-${to}/20` }
  if (part.length === 0) return { status: 416, headers: { 'content-range': 'bytes */20' }, body: '' }
  return { status: 206, type: 'application/jsonl', headers: { ...own, ...range }, body: part }
}

const line = 'GET /openai/v1/files/file_1/content'

test('a file keeps what describes it, and loses cookies, accounts and what caches go by', async () => {
  upstream.answer(fileAt)
  const { status, headers, text } = await send(holder, line)
  assert.deepEqual([status, text], [200, content.toString()])
  for (const [name, value] of Object.entries(described)) assert.equal(headers[name], value, name)
  assert.deepEqual([headers['content-type'], headers['content-length']], ['application/jsonl', '20'])
  assert.deepEqual([headers['set-cookie'], headers['openai-organization']], [undefined, undefined])
  assert.equal(headers['cache-control'], 'no-cache')
  assert.match(String(headers['x-switchyard-request-id']), /^req_/)
})

test('a part of a file is asked for and answered as such', async () => {
  upstream.answer(fileAt)
  const part = await send(holder, line, { headers: { range: 'bytes=5-9' } })
  assert.deepEqual([part.status, part.text, part.headers['content-range']], [206, '56789', 'bytes 5-9/20'])
  assert.equal(upstream.last().headers.range, 'bytes=5-9')
  const beyond = await send(holder, line, { headers: { range: 'bytes=30-40' } })
  assert.deepEqual([beyond.status, beyond.headers['content-range']], [416, 'bytes */20'])
})

test('a file that the client has is not sent again', async () => {
  upstream.answer(fileAt)
  const { status, headers, text } = await send(holder, line, { headers: { 'if-none-match': etag } })
  assert.deepEqual([status, text, headers['etag']], [304, '', etag])
  assert.equal(headers['content-length'], undefined)
})

test('a location of the provider’s own leads to the gateway, one elsewhere stays, one with the credential is dropped', async () => {
  const locations = [
    [`${upstream.url}/v1/files/file_2?x=1`, '/openai/v1/files/file_2?x=1'],
    ['https://storage.example/file_2', 'https://storage.example/file_2'],
    [`https://storage.example/file_2?key=${secret}`, undefined],
  ] as const
  for (const [location, here] of locations) {
    upstream.answer({ status: 201, headers: { location, 'content-location': location }, body: '{}' })
    const made = await send(holder, 'POST /openai/v1/uploads', { body: {} })
    assert.deepEqual([made.status, made.headers.location, made.headers['content-location']], [201, here, here])
  }
})

test('speech keeps the name of its file', async () => {
  const disposition = 'attachment; filename="speech.mp3"'
  upstream.answer({
    type: 'audio/mpeg',
    headers: { 'content-disposition': disposition, 'set-cookie': 'a=b' },
    body: 'x',
  })
  const { headers } = await send(service, 'POST /v1/audio/speech', {
    body: { model: 'openai/tts-1', voice: 'alloy', input: 'Hello' },
  })
  assert.deepEqual([headers['content-disposition'], headers['set-cookie']], [disposition, undefined])
})
