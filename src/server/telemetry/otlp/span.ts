import type { Attributes } from '../../platform/otlp.ts'

/** An ended span. Times are milliseconds since 1970. */
export interface Span {
  readonly traceId: string
  readonly spanId: string
  readonly parentId: string | undefined
  readonly name: string
  /** `client`: a request to another service; `internal`: work of this one. */
  readonly kind: 'internal' | 'client'
  readonly startMs: number
  readonly endMs: number
  readonly attributes: Attributes
  /** What went wrong; undefined for a success. */
  readonly error?: string | undefined
}
