import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { probeMode } from '../../../../test/support/gateway/adapter-probe.ts'
import { deploymentAt } from '../../../../test/support/gateway/gateway-app.ts'
import {
  jsonAnswer,
  type RawRequest,
  startByteServer,
  streamHead,
} from '../../../../test/support/upstream/byte-server.ts'
import type { Deployment } from '../../config/deployments.ts'
import type { CallKind, Outcome } from '../core/call.ts'
import { carrierOf } from '../formats/gemini/carried-state.ts'
import { noTokens } from '../tokens/token-counts.ts'
import { geminiPassthrough } from './gemini.ts'

interface Calling {
  readonly kind?: CallKind
  readonly stream?: boolean
  readonly request?: object | string
}

const hi = { contents: [{ parts: [{ text: 'hi' }] }] }

/** Calls a server that responds with `bytes`. */
async function answered(
  bytes: string,
  { kind = 'gemini', stream = true, request = hi }: Calling = {},
  changes: Partial<Deployment> = {},
) {
  const requests: RawRequest[] = []
  const server = await startByteServer((socket, given) => {
    requests.push(given)
    socket.end(bytes)
  })
  const deployment = deploymentAt(server.url, {
    provider: 'gemini',
    protocols: ['gemini'],
    alias: 'flash',
    upstreamModel: 'gemini-3-flash',
    ...changes,
  })
  const probe = probeMode({ format: geminiPassthrough, deployment })
  after(async () => {
    await probe.close()
    await server.stop()
  })
  const told = await probe.call(kind, request, { address: { model: 'flash', stream }, query: '?alt=sse&key=k' })
  return { ...told, request: requests[0] }
}

const chunk = (fields: object) => `data: ${JSON.stringify(fields)}\r\n\r\n`
const said = (parts: readonly object[], fields: object = {}) => ({
  candidates: [{ content: { parts, role: 'model' }, index: 0, ...fields }],
})
const usageMetadata = {
  promptTokenCount: 125,
  cachedContentTokenCount: 100,
  candidatesTokenCount: 7,
  thoughtsTokenCount: 3,
}
const stated = { ...noTokens, input_tokens: 25, cache_read_tokens: 100, output_tokens: 10, reasoning_tokens: 3 }
const stop = { finishReason: 'STOP' }

const streams: readonly (readonly [string, string, object])[] = [
  [
    'text, and usage in every chunk',
    chunk({ ...said([{ text: 'Hel' }]), usageMetadata: { promptTokenCount: 125 } }) +
      chunk({ ...said([{ text: 'lo' }], stop), usageMetadata }),
    { usage: stated, stopReason: 'STOP', outcome: 'completed' },
  ],
  [
    'a call, and a chunk after the finish reason',
    chunk({ ...said([{ functionCall: { name: 'f', args: {} }, thoughtSignature: 'x' }], stop), usageMetadata }) +
      chunk({ modelVersion: 'g' }),
    { usage: stated, stopReason: 'STOP', outcome: 'completed' },
  ],
  [
    'a blocked prompt',
    chunk({ promptFeedback: { blockReason: 'SAFETY' }, usageMetadata: { ...usageMetadata, candidatesTokenCount: 0 } }),
    { usage: { ...stated, output_tokens: 3 }, stopReason: 'SAFETY', outcome: 'completed' },
  ],
  [
    'an error after content',
    chunk({ ...said([{ text: 'Hel' }]), usageMetadata }) +
      chunk({ error: { code: 503, message: 'x', status: 'UNAVAILABLE' } }),
    { usage: { ...stated, estimated: true }, stopReason: undefined, outcome: 'failed' },
  ],
  [
    'an image longer than the frame buffer',
    chunk({ ...said([{ inlineData: { mimeType: 'image/png', data: 'A'.repeat(400_000) } }], stop), usageMetadata }),
    { usage: stated, stopReason: 'STOP', outcome: 'completed' },
  ],
]

for (const [what, body, expected] of streams) {
  test(`R2: ${what}: the stream is relayed byte for byte and booked with its usage`, async () => {
    const { ending, text, request } = await answered(streamHead() + body)
    assert.equal(text, body)
    const { usage, stopReason, outcome } = ending as Outcome
    assert.deepEqual({ usage, stopReason, outcome }, expected)
    assert.equal(request?.body, JSON.stringify(hi))
  })
}

const addresses: readonly (readonly [string, Calling, Partial<Deployment>])[] = [
  ['/v1beta/models/gemini-3-flash:streamGenerateContent?alt=sse', {}, {}],
  ['/v1beta/models/gemini-3-flash:generateContent', { stream: false }, {}],
  ['/v1beta/models/gemini-3-flash:countTokens', { kind: 'gemini_count', stream: false }, {}],
  [
    '/v1/projects/p/locations/global/publishers/google/models/gemini-3-flash:generateContent',
    { stream: false },
    { google: { project: 'p', location: 'global', serviceAccount: undefined }, provider: 'vertex' },
  ],
]

for (const [path, calling, changes] of addresses) {
  test(`R3: a request is sent to ${path} without the client's key`, async () => {
    const body =
      calling.stream === false ? jsonAnswer('{"totalTokens":4}') : streamHead() + chunk(said([{ text: 'a' }], stop))
    const { request } = await answered(body, calling, changes)
    assert.equal(request?.head.split(' ')[1], path)
    assert.doesNotMatch(request?.head ?? '', /key=k/)
  })
}

test('a whole response is booked with its usage and finish reason', async () => {
  const body = JSON.stringify({ ...said([{ text: 'Hello' }], { finishReason: 'MAX_TOKENS' }), usageMetadata })
  const { ending, text } = await answered(jsonAnswer(body), { stream: false })
  assert.equal(text, body)
  const { usage, stopReason } = ending as Outcome
  assert.deepEqual([usage, stopReason], [stated, 'MAX_TOKENS'])
})

test('E5: a truncated stream ends with an error in Google’s format and books the tokens already sent', async () => {
  const body = chunk(said([{ text: 'Hello, this is' }]))
  const { ending, text, ends } = await answered(`${streamHead()}${body}data: {"cut`)
  assert.match(
    text.slice(body.length),
    /^data: \{"error":\{"code":502,"message":"[^"]+","status":"UNAVAILABLE"\}\}\n\n$/,
  )
  const { usage, outcome } = ending as Outcome
  assert.deepEqual([outcome, ends, usage.estimated, usage.output_tokens], ['failed', 1, true, 4])
})

test('E4: an error before content is an upstream error with status 529', async () => {
  const { ending } = await answered(
    streamHead() + chunk({ error: { code: 503, message: 'busy', status: 'UNAVAILABLE' } }),
  )
  assert.deepEqual([ending?.outcome, ending?.status], ['refused', 529])
  assert.match((ending as { body: Buffer }).body.toString(), /^\{"error":\{"code":529,"message":"busy"/)
})

test('K4: only signatures that carry the thinking of other providers are replaced', async () => {
  const carrier = carrierOf([{ type: 'thinking', thinking: 'Hm.', signature: 'sig' }])
  const part = (signature: string) =>
    `{"contents":[ {"parts":[{"text":"\\"${carrier}","thoughtSignature" : "${signature}"}],"x":1.0}]}`
  const sent = await answered(jsonAnswer('{}'), { stream: false, request: part(carrier) })
  assert.equal(sent.request?.body, part('skip_thought_signature_validator'))
  assert.equal(sent.headers['x-switchyard-degraded'], 'contents.thoughtSignature=signature_skipped')
  const own = await answered(jsonAnswer('{}'), { stream: false, request: part('Z2VtaW5p') })
  assert.equal(own.request?.body, part('Z2VtaW5p'))
})
