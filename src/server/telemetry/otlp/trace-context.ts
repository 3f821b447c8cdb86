import { hash } from 'node:crypto'

/** Place of a span in a trace. Source: W3C Trace Context, level 1. */
export interface TraceContext {
  /** 32 hexadecimal digits. */
  readonly traceId: string
  /** 16 hexadecimal digits. */
  readonly spanId: string
  readonly isSampled: boolean
}

// Ids are derived from the ids of the service, so that a process that takes a run over continues its trace.

/** Returns the trace id of a run or a request. */
export const traceIdOf = (id: string): string => hash('sha256', `trace ${id}`, 'hex').slice(0, 32)

/** Returns the span id of a run, a step, a request or a tool call. */
export const spanIdOf = (id: string): string => hash('sha256', `span ${id}`, 'hex').slice(0, 16)

const format = /^[\da-f]{2}-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-.*)?$/

/** Returns the context of a `traceparent` header; undefined if it is invalid. */
export function contextOf(traceparent: string | null | undefined): TraceContext | undefined {
  const [, traceId, spanId, flags] = format.exec(traceparent ?? '') ?? []
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined
  if (traceparent?.startsWith('ff') || /^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 }
}

/** Returns the `traceparent` header of a context. */
export const traceparentOf = ({ traceId, spanId, isSampled }: TraceContext): string =>
  `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`

/** Reports whether a trace is in the share that is exported; the same on all replicas. */
export const isInSample = (traceId: string, share: number): boolean =>
  share >= 1 || Number.parseInt(traceId.slice(0, 13), 16) / 2 ** 52 < share

interface Traced {
  readonly requestId: string
  /** Run that makes the call; undefined for a client. */
  readonly runId: string | undefined
  /** Header of the caller. */
  readonly traceparent: string | null | undefined
}

/** Returns the context of a model call: it continues the trace of the caller, else that of its run. */
export function contextOfCall({ requestId, runId, traceparent }: Traced, sample: number): TraceContext {
  const given = contextOf(traceparent)
  const traceId = given?.traceId ?? traceIdOf(runId ?? requestId)
  const isSampled = given ? given.isSampled && isInSample(traceId, sample) : isInSample(traceId, sample)
  return { traceId, spanId: spanIdOf(`call ${requestId}`), isSampled }
}
