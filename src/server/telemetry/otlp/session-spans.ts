import { type SessionEvent, textOfContent } from '../../../contract/events.ts'
import type { Attributes } from '../../platform/otlp.ts'
import { Recent } from '../../platform/recent.ts'
import type { EndedRun, OpenRun } from '../open-runs.ts'
import type { EndedToolCall } from '../open-tool-calls.ts'
import type { Followed } from '../session-follower.ts'
import type { RunTrace, RunTraces } from './run-traces.ts'
import type { Span } from './span.ts'
import { spanIdOf, toolSpanIdOf } from './trace-ids.ts'

interface Options {
  /** Called with each ended span of a sampled run. */
  readonly add: (span: Span) => void
  readonly traces: RunTraces
  /** True: spans contain messages, arguments and results. */
  readonly hasContent: boolean
}

/** What is known of a session while it runs here. */
interface Open {
  /** Id of the event that began the current step, and its time. */
  step?: { readonly id: string; readonly startMs: number } | undefined
  agentId?: string | undefined
  output?: string | undefined
}

/** Spans of runs, steps and tool calls, from the events of sessions. */
export interface SessionSpans {
  followed(sessionId: string, event: SessionEvent, found: Followed): void
  /** Returns the span id of the current step of a session; undefined without one. */
  stepOf(sessionId: string): string | undefined
  noteAgent(sessionId: string, agentId: string): void
}

const maxOpen = 10_000
/** Messages of prompts that have not run yet. */
const maxInputs = 1_000
/** Longest content of one attribute in characters. */
const maxContent = 32_000

export function createSessionSpans({ add, traces, hasContent }: Options): SessionSpans {
  const open = new Recent<Open>(maxOpen)
  /** By prompt. */
  const inputs = new Recent<string>(maxInputs)

  function openOf(sessionId: string): Open {
    const found = open.get(sessionId) ?? {}
    open.set(sessionId, found)
    return found
  }

  /** Ends the current step. */
  function endStep(sessionId: string, { runId }: Pick<OpenRun, 'runId'>, endMs: number): void {
    const { step } = openOf(sessionId)
    if (!step) return
    openOf(sessionId).step = undefined
    const attributes = { 'gen_ai.conversation.id': sessionId, 'switchyard.run_id': runId }
    const { id, startMs } = step
    const ids = { spanId: spanIdOf(id), parentId: spanIdOf(runId) }
    addOfRun(runId, { ...ids, name: 'step', kind: 'internal', startMs, endMs, attributes })
  }

  /** Adds a span in the trace of a run, unless that is not sampled. */
  function addOfRun(runId: string, span: SpanOfRun): void {
    const { traceId, isSampled, state } = traces.of(runId)
    if (isSampled) add({ ...span, traceId, state })
  }

  function noteContent(sessionId: string, event: SessionEvent): void {
    if (event.type === 'user.message' && event.prompt_id !== undefined) {
      inputs.set(event.prompt_id, textOfContent(event.content).slice(0, maxContent))
    }
    if (event.type === 'agent.message') openOf(sessionId).output = textOfContent(event.content)
  }

  function stepOf(sessionId: string): string | undefined {
    const step = open.get(sessionId)?.step
    return step && spanIdOf(step.id)
  }

  return {
    stepOf,
    noteAgent(sessionId, agentId) {
      const found = open.get(sessionId)
      if (found) found.agentId = agentId
    },
    followed(sessionId, event, { run, endedCall, endedRun }) {
      if (hasContent) noteContent(sessionId, event)
      if (event.type === 'span.model_request_start' && run) {
        const startMs = Date.parse(event.processed_at)
        endStep(sessionId, run, startMs)
        openOf(sessionId).step = { id: event.id, startMs }
      }
      if (endedCall && run) {
        const around = { sessionId, run, stepId: stepOf(sessionId), hasContent }
        addOfRun(run.runId, spanOfToolCall(endedCall, around))
      }
      if (!endedRun) return
      endStep(sessionId, endedRun, endedRun.endMs)
      const { agentId, output } = openOf(sessionId)
      const { runId, promptId } = endedRun
      const input = promptId === undefined ? undefined : inputs.take(promptId)
      addOfRun(runId, spanOfRun(endedRun, sessionId, { agentId, input, output, trace: traces.of(runId) }))
      open.take(sessionId)
    },
  }
}

/** The trace is that of the run. */
type SpanOfRun = Omit<Span, 'traceId' | 'state'>

interface Around {
  readonly sessionId: string
  readonly run: OpenRun
  readonly stepId: string | undefined
  readonly hasContent: boolean
}

function spanOfToolCall(call: EndedToolCall, { sessionId, run, stepId, hasContent }: Around): SpanOfRun {
  const { id, tool, kind, startMs, endMs, isError, input, content } = call
  const shown: Attributes = hasContent
    ? { 'gen_ai.tool.call.arguments': contentOf(input), 'gen_ai.tool.call.result': contentOf(content) }
    : {}
  return {
    spanId: toolSpanIdOf(sessionId, id),
    parentId: stepId ?? spanIdOf(run.runId),
    name: `execute_tool ${tool}`,
    kind: 'internal',
    startMs,
    endMs,
    error: isError ? 'tool_error' : undefined,
    attributes: {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': tool,
      'gen_ai.tool.call.id': id,
      'gen_ai.tool.type': kind === 'mcp' ? 'extension' : 'function',
      'gen_ai.conversation.id': sessionId,
      'error.type': isError ? 'tool_error' : undefined,
      'switchyard.run_id': run.runId,
      ...shown,
    },
  }
}

interface Known {
  readonly trace: RunTrace
  readonly agentId: string | undefined
  readonly input: string | undefined
  readonly output: string | undefined
}

/** A part of a run without its start, such as after a takeover, is a child of the run. */
function spanOfRun({ runId, promptId, startMs, endMs, outcome }: EndedRun, sessionId: string, known: Known): SpanOfRun {
  const root = spanIdOf(runId)
  const isWhole = startMs !== undefined
  const { agentId, input, output, trace } = known
  return {
    spanId: isWhole ? root : spanIdOf(`${runId} ${endMs}`),
    parentId: isWhole ? trace.parentId : root,
    links: trace.links,
    name: 'invoke_agent',
    kind: 'internal',
    startMs: startMs ?? endMs,
    endMs,
    error: outcome === 'failed' ? 'run_failed' : undefined,
    attributes: {
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.id': agentId,
      'gen_ai.conversation.id': sessionId,
      'error.type': outcome === 'failed' ? 'run_failed' : undefined,
      'switchyard.run_id': runId,
      'switchyard.prompt_id': promptId,
      'switchyard.outcome': outcome,
      'gen_ai.input.messages': messageOf('user', input),
      'gen_ai.output.messages': messageOf('assistant', output),
    },
  }
}

const messageOf = (role: 'user' | 'assistant', text: string | undefined): string | undefined =>
  text && JSON.stringify([{ role, parts: [{ type: 'text', content: text.slice(0, maxContent) }] }])

const contentOf = (value: unknown): string | undefined =>
  (typeof value === 'string' ? value : JSON.stringify(value))?.slice(0, maxContent)
