import type { Attributes } from '../../platform/otlp.ts'
import type { TraceContext } from '../../platform/trace-context.ts'

/** An ended span. Times are milliseconds since 1970. */
export interface Span {
  readonly traceId: string
  readonly spanId: string
  readonly parentId: string | undefined
  /** Entries of tracing systems, as in `tracestate`. */
  readonly state?: string | undefined
  readonly name: string
  /** `client`: a request to another service; `internal`: work of this one. */
  readonly kind: 'internal' | 'client'
  readonly startMs: number
  readonly endMs: number
  readonly attributes: Attributes
  /** Further attributes, from `encodedAttributes`, which many spans share. */
  readonly sharedAttributes?: Buffer
  /** Spans of other traces that led to this one. */
  readonly links?: readonly TraceContext[]
  /** What went wrong; undefined for a success. */
  readonly error?: string | undefined
}
