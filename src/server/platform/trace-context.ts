/** Place in a trace. Source: W3C Trace Context, level 2. */
export interface TraceContext {
  /** 32 hexadecimal digits. */
  readonly traceId: string
  /** 16 hexadecimal digits. */
  readonly spanId: string
  readonly isSampled: boolean
  /** Entries of tracing systems as in `tracestate`; undefined without any. */
  readonly state?: string | undefined
}

/** Trace context as headers of a request. */
export interface TraceHeaders {
  readonly traceparent: string
  readonly tracestate?: string
}

/** Headers that were received, with names in lower case, or fields with these names. */
type Received = Readonly<Record<string, unknown>>

const format = /^(?!ff)([\da-f]{2})-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-([\da-f]{2})(-.*)?$/

/** Returns the context that a request was sent in; undefined without a valid `traceparent`. */
export function contextOf({ traceparent, tracestate }: Received): TraceContext | undefined {
  const [, version, traceId, spanId, flags, more] = format.exec(textOf(traceparent)) ?? []
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined
  // Only later versions may have more fields.
  if (version === '00' && more !== undefined) return undefined
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1, state: stateOf(tracestate) }
}

/** Returns the headers that continue a context. */
export const headersOf = ({ traceId, spanId, isSampled, state }: TraceContext): TraceHeaders => ({
  traceparent: `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`,
  ...(state !== undefined && { tracestate: state }),
})

/** Returns the valid trace headers of a request, normalised; undefined without any. */
export function traceHeadersOf(headers: Received): TraceHeaders | undefined {
  if (headers['traceparent'] === undefined) return undefined
  const context = contextOf(headers)
  return context && headersOf(context)
}

/** Several headers are one list. */
const textOf = (value: unknown): string =>
  [value]
    .flat()
    .filter(one => typeof one === 'string')
    .join(',')

const key = /(?:[a-z][a-z\d_*/-]{0,255}|[a-z\d][a-z\d_*/-]{0,240}@[a-z][a-z\d_*/-]{0,13})/
const value = /[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]/
const entry = new RegExp(`^${key.source}=${value.source}$`)
const maxEntries = 32
/** A longer text cannot be valid. */
const maxReceived = 32 * 1024
/** The least that the specification demands. */
const maxLength = 512
/** Longer entries are dropped first. */
const longEntry = 128

/** Returns the entries of `tracestate`; undefined without any, and when one is invalid. Drops those that are too long. */
function stateOf(given: unknown): string | undefined {
  const text = textOf(given)
  if (text.length > maxReceived) return undefined
  const entries = text
    .split(',')
    .map(one => one.trim())
    .filter(one => one !== '')
  if (entries.length > maxEntries || entries.some(one => !entry.test(one))) return undefined
  let kept = entries
  if (kept.join(',').length > maxLength) kept = kept.filter(({ length }) => length <= longEntry)
  while (kept.join(',').length > maxLength) kept = kept.slice(0, -1)
  return kept.length === 0 ? undefined : kept.join(',')
}
