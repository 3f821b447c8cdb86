import type { Gateway } from '../../gateway/gateway.ts'
import { noTelemetry, type Telemetry } from '../telemetry.ts'
import { spanOfCall } from './call-spans.ts'
import type { Otlp } from './otlp.ts'
import { createSessionSpans } from './session-spans.ts'
import type { Span } from './span.ts'
import { contextOfCall, isInSample, traceparentOf } from './trace-context.ts'

/** Returns the telemetry that exports spans of model calls, runs, steps and tool calls. */
export function createTracing(otlp: Otlp, hasContent: boolean): Telemetry {
  const { sample } = otlp.settings
  const add = (span: Span): void => {
    if (isInSample(span.traceId, sample)) otlp.addSpan(span)
  }
  const sessions = createSessionSpans({ add, hasContent })
  return {
    ...noTelemetry,
    called(row) {
      const { traceparent } = row
      const requestId = row.request_id ?? ''
      const sessionId = row.session_id ?? undefined
      const context = contextOfCall({ requestId, runId: row.run_id ?? undefined, traceparent }, sample)
      otlp.noteTrace(requestId, context.traceId)
      if (sessionId !== undefined && row.agent_id) sessions.noteAgent(sessionId, row.agent_id)
      const stepId = sessionId === undefined ? undefined : sessions.stepOf(sessionId)
      if (context.isSampled) otlp.addSpan(spanOfCall(row, { context, stepId }))
    },
    stored(sessionId, events) {
      for (const event of events) sessions.note(sessionId, event)
    },
  }
}

/** Adds the trace context to every call, for upstreams. Returns `call` itself unless that is configured. */
export function tracedCall(call: Gateway['call'], { settings }: Pick<Otlp, 'settings'>): Gateway['call'] {
  if (!settings.propagates) return call
  return (given, sink) => {
    const { requestId, session, headers } = given
    const traced = { requestId, runId: session?.run_id, traceparent: [headers['traceparent']].flat()[0] }
    return call({ ...given, traceparent: traceparentOf(contextOfCall(traced, settings.sample)) }, sink)
  }
}
