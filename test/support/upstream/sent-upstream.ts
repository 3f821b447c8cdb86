import type { CanonicalRequest, Codec, CodecContext } from '../../../src/server/gateway/core/codec.ts'
import type { Json } from '../../../src/server/platform/json.ts'

/** Context of a codec in a test: signatures of reasoning are readable, and signatures of calls are not stored. */
export const plainContext = {
  stream: true,
  requestId: 'req_1',
  reasoning: {
    sign: (state: string) => `sealed:${state}`,
    stateOf: (signature: string) => (signature.startsWith('sealed:') ? signature.slice(7) : undefined),
    ownStateOf: () => undefined,
  },
  callSignatures: { set: () => undefined, get: () => undefined },
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
