import { hash } from 'node:crypto'
import type { TraceContext } from '../../platform/trace-context.ts'

// Ids are derived from the ids of the service, so that a process that takes a run over continues its trace.

/** Ids of the service: a time, then random digits. */
const ownId = /^[a-z]+_([\da-f]{32})$/

/** Returns the trace id of a run or a request: the digits of its id. */
export const traceIdOf = (id: string): string =>
  ownId.exec(id)?.[1] ?? hash('sha256', `trace ${id}`, 'hex').slice(0, 32)

/** Returns the span id of a run, a step, a request or a tool call: the last digits of its id. */
export const spanIdOf = (id: string): string =>
  ownId.exec(id)?.[1]?.slice(16) ?? hash('sha256', `span ${id}`, 'hex').slice(0, 16)

/** Returns the span id of a tool call of a session. */
export const toolSpanIdOf = (sessionId: string, toolUseId: string): string => spanIdOf(`tool ${sessionId} ${toolUseId}`)

/** Reports whether a trace is in the share that is exported; the same on all replicas. The last digits are random. */
export const isInSample = (traceId: string, share: number): boolean =>
  share >= 1 || Number.parseInt(traceId.slice(-13), 16) / 2 ** 52 < share

/** A trace, and the span in it that is continued. */
export interface Continued {
  readonly traceId: string
  /** Undefined for a trace that starts here. */
  readonly parentId: string | undefined
  readonly isSampled: boolean
  readonly state: string | undefined
}

/** Returns the trace that a request or a run continues: that of its headers, else a new one with an id from `id`. */
export function continuedTrace(given: TraceContext | undefined, id: string, sample: number): Continued {
  const traceId = given?.traceId ?? traceIdOf(id)
  return {
    traceId,
    parentId: given?.spanId,
    isSampled: (given?.isSampled ?? true) && isInSample(traceId, sample),
    state: given?.state,
  }
}
