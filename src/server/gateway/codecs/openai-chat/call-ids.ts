import { createHash } from 'node:crypto'

/** What Anthropic's clients accept as the id of a tool call. */
const plainId = /^[a-zA-Z0-9_-]{1,64}$/
/** Marks ids that hold another one, which has characters that Anthropic's clients do not accept. */
const wrapMark = 'callb64_'
/** OpenAI refuses longer ids of calls. */
const maxUpstreamLength = 40
/** Longer ids may well hide a provider's state, which does not belong into an id. */
const maxWrappedLength = 64

/** The id of a tool call as the client gets it: the upstream's own where it can be, else one made of it. */
export function clientCallId(id: string): string {
  if (plainId.test(id) && !id.startsWith(wrapMark)) return id
  return id.length > maxWrappedLength ? shortened(id) : `${wrapMark}${Buffer.from(id).toString('base64url')}`
}

/** The id of a tool call as the upstream gets it back. Equal ids stay equal, so that results find their calls. */
export function upstreamCallId(id: string): string {
  const own = id.startsWith(wrapMark) ? Buffer.from(id.slice(wrapMark.length), 'base64url').toString() : id
  return own.length > maxUpstreamLength ? shortened(own) : own
}

/** An id for a call that came without one, or with one that another call of the answer has. */
export const madeCallId = (requestId: string, number: number): string => shortened(`${requestId}:${number}`)

const shortened = (text: string): string => `call_${createHash('sha256').update(text).digest('hex').slice(0, 24)}`
