import type { CanonicalRequest, Codec, CodecContext } from '../../src/server/gateway/core/codec.ts'
import type { Json } from '../../src/server/platform/json.ts'

/** What a codec may know in a test: its seal can be read, and it remembers nothing. */
export const plainContext = {
  stream: true,
  requestId: 'req_1',
  reasoning: {
    seal: (state: string) => `sealed:${state}`,
    open: (signature: string) => (signature.startsWith('sealed:') ? signature.slice(7) : undefined),
    openOwn: () => undefined,
  },
  callSignatures: { remember: () => undefined, recall: () => undefined },
} as const satisfies Partial<CodecContext>

/** What a codec makes of `request`, as it arrives upstream. What every request must hold is there unless given. */
export function sentUpstream(codec: Pick<Codec, 'request'>, request: CanonicalRequest, context: CodecContext) {
  const base = { model: 'alias', max_tokens: 100, messages: [{ role: 'user', content: 'hi' }] }
  const { path, body, degraded } = codec.request({ ...base, ...request }, context)
  const text = JSON.stringify(body)
  return {
    path,
    text,
    body: JSON.parse(text) as Json,
    degraded: degraded.map(({ path: where, action }) => `${where}=${action}`),
  }
}
