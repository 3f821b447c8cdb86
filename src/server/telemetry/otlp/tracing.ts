import type { Gateway } from '../../gateway/gateway.ts'
import type { Attributes } from '../../platform/otlp.ts'
import { contextOf, headersOf, type TraceContext, type TraceHeaders } from '../../platform/trace-context.ts'
import { noReceiver, type TelemetryReceiver } from '../telemetry.ts'
import { createCallSpans } from './call-spans.ts'
import type { Otlp } from './otlp.ts'
import { createRunTraces } from './run-traces.ts'
import { createSessionSpans } from './session-spans.ts'
import type { Span } from './span.ts'
import { type Continued, continuedTrace, spanIdOf, toolSpanIdOf } from './trace-ids.ts'

/** Export of spans, and the trace context for what this process calls. */
interface Tracing {
  readonly receiver: TelemetryReceiver
  /** Adds the trace context to every call, for upstreams. Returns `call` itself unless that is configured. */
  traced(call: Gateway['call']): Gateway['call']
  /** Takes note of how to read the content of a call that starts; undefined where content is not exported. */
  readonly observeContent: ((requestId: string, read: () => CallContent) => { readonly end: () => void }) | undefined
  /** Returns the trace context of a tool call, for what it starts. */
  ofToolCall(call: ToolCall): TraceHeaders
}

/** Content of a model call, as JSON of the conventions for generative AI. */
interface CallContent {
  readonly system: string | undefined
  readonly input: string | undefined
  readonly output: string | undefined
}

/** Reads the content. Nothing waits for it, so an error must not end the process. */
function shownContent(read: () => CallContent): Attributes {
  try {
    const { system, input, output } = read()
    return {
      'gen_ai.system_instructions': system,
      'gen_ai.input.messages': input,
      'gen_ai.output.messages': output,
    }
  } catch {
    return { 'switchyard.content_omitted': true }
  }
}

interface ToolCall {
  readonly sessionId: string
  readonly runId: string
  readonly toolUseId: string
}

/** Creates the export of spans of model calls, runs, steps and tool calls. */
export function createTracing(otlp: Otlp, hasContent: boolean): Tracing {
  const { sample, propagates } = otlp.settings
  const runs = createRunTraces(sample)
  const spanOfCall = createCallSpans()
  /** By request: how to read the content of calls in flight. */
  const contents = new Map<string, () => CallContent>()
  const sessions = createSessionSpans({ add: otlp.addSpan, traces: runs, hasContent })

  /** A model call continues the trace of its caller, else that of its run, else it starts one. */
  function traceOfCall(requestId: string, runId: string | undefined, sent: TraceContext | undefined): Continued {
    return sent || runId === undefined ? continuedTrace(sent, requestId, sample) : runs.of(runId)
  }

  /** Reads the content later, so that the end of the call does not wait for it. */
  function addWithContent(span: Span, read: () => CallContent): void {
    setImmediate(() => {
      otlp.addSpan({ ...span, attributes: { ...span.attributes, ...shownContent(read) } })
    })
  }

  return {
    receiver: {
      ...noReceiver,
      called(row) {
        const requestId = row.request_id ?? ''
        const sessionId = row.session_id ?? undefined
        const trace = traceOfCall(requestId, row.run_id ?? undefined, row.trace ?? undefined)
        otlp.noteTrace(requestId, trace.traceId)
        if (sessionId !== undefined && row.agent_id) sessions.noteAgent(sessionId, row.agent_id)
        const stepId = sessionId === undefined ? undefined : sessions.stepOf(sessionId)
        if (!trace.isSampled) return
        const span = spanOfCall(row, { trace, stepId })
        const read = contents.get(requestId)
        if (read) addWithContent(span, read)
        else otlp.addSpan(span)
      },
      ran: runs.note,
      followed: sessions.followed,
    },
    traced(call) {
      if (!propagates) return call
      return (given, sink) => {
        const { requestId, session, headers } = given
        const { traceId, isSampled, state } = traceOfCall(requestId, session?.run_id, contextOf(headers))
        return call({ ...given, trace: headersOf({ traceId, spanId: spanIdOf(requestId), isSampled, state }) }, sink)
      }
    },
    observeContent: hasContent
      ? (requestId, read) => {
          contents.set(requestId, read)
          return { end: () => void contents.delete(requestId) }
        }
      : undefined,
    ofToolCall({ sessionId, runId, toolUseId }) {
      const { traceId, isSampled, state } = runs.of(runId)
      return headersOf({ traceId, spanId: toolSpanIdOf(sessionId, toolUseId), isSampled, state })
    },
  }
}
