import {
  awaitedApprovals,
  budgetReached,
  endsRun,
  isOfThread,
  type SessionEvent,
  textOfContent,
} from '../../contract/events.ts'
import { listOf, recordOf, textOf } from '../platform/json.ts'
import type { PatchOperation } from '../platform/json-patch.ts'
import type { Preview } from '../sessions/log/remote-previews.ts'
import { stateToolName } from '../tools/front-end.ts'
import type { AgUiEvent, Outcome } from './events.ts'
import { interruptOf } from './interrupts.ts'
import { MessageTexts } from './message-texts.ts'
import { RunUsage } from './run-usage.ts'
import { callName, type ThreadCall, ThreadCalls } from './thread-calls.ts'

/** A run of a front-end. */
export interface FrontEndRun {
  readonly thread_id: string
  readonly run_id: string
  /** Prompts that the run follows, in order. */
  readonly prompt_ids: readonly string[]
}

type EventOf<Type extends SessionEvent['type']> = Extract<SessionEvent, { readonly type: Type }>
type ToolUse = EventOf<'agent.tool_use' | 'agent.mcp_tool_use' | 'agent.custom_tool_use'>
type ToolResult = EventOf<'agent.tool_result' | 'agent.mcp_tool_result'>
type End = {
  readonly state: 'done' | 'error' | 'cancelled'
  readonly message?: string
  readonly code?: string
  readonly result?: unknown
}

/**
 * Reads the log of a session event by event into the events of one run of a front-end. Does no I/O: the log alone determines the
 * events, so that every process and every new reader gets the same ones.
 */
export class RunReading {
  readonly #run: FrontEndRun
  readonly #calls = new ThreadCalls()
  readonly #texts = new MessageTexts()
  readonly #usage = new RunUsage()
  /** Prompts of the run that have not ended. */
  readonly #open: Set<string>
  /** Calls of this run without a result, in their order. */
  readonly #unanswered = new Map<string, { readonly isClient: boolean }>()
  /** Prompt of the turn that runs, and those of turns that a prompt of the run has joined. */
  #running = ''
  readonly #joined = new Set<string>()
  #isInRun = false
  #isOver = false
  /** Message that holds the calls of the current answer. */
  #parent: string | undefined
  #step: string | undefined
  #steps = 0

  constructor(run: FrontEndRun) {
    this.#run = run
    this.#open = new Set(run.prompt_ids)
  }

  /** True once no event belongs to the run. */
  get isOver(): boolean {
    return this.#isOver
  }

  /** True while a prompt of the run has not ended: it may still do so after the end of the run. */
  get isUnfinished(): boolean {
    return this.#open.size > 0
  }

  /** The calls that wait for an answer from outside. */
  get questions(): readonly ThreadCall[] {
    return this.#calls.questions
  }

  /** Reads an event before the start of the run, or after its end. */
  recall(event: SessionEvent): void {
    this.#notice(event)
    this.#takeCall(event)
    this.#ended(event)
  }

  /** Returns the events that an event of the log makes. */
  take(event: SessionEvent): AgUiEvent[] {
    if (this.#isOver) return []
    this.#notice(event)
    this.#takeCall(event)
    const end = this.#ended(event)
    if (end) return this.#end(end)
    return this.#isInRun ? this.#inRun(event) : []
  }

  /** Returns the events that a piece of an answer makes which is being generated. The log has the whole answer later. */
  preview(preview: Preview): AgUiEvent[] {
    if (this.#isOver || !this.#isInRun) return []
    if (preview.type === 'event_delta') return this.#texts.add(preview.event_id, preview.delta.content.text)
    this.#texts.begin(preview.event.id)
    return []
  }

  /** Ends a run whose log is gone. */
  lost(): AgUiEvent[] {
    return this.#isOver
      ? []
      : this.#fail({ code: 'session_deleted', message: 'the session of this thread was deleted' })
  }

  /** Notices whether a prompt of the run is the one that runs. */
  #notice(event: SessionEvent): void {
    if (event.type === 'session.status_running' && event.prompt_id !== undefined && !isOfThread(event)) {
      this.#running = event.prompt_id
      this.#isInRun = this.#open.has(event.prompt_id) || this.#joined.has(event.prompt_id)
    }
    // A prompt that joins a running turn gets no `session.status_running`.
    if (event.type === 'span.model_request_start' && event.prompt_ids?.some(id => this.#open.has(id))) {
      this.#joined.add(this.#running)
      this.#isInRun = true
    }
  }

  /** Questions of other prompts are for the clients that have sent these. */
  #takeCall(event: SessionEvent): void {
    if (this.#isInRun || awaitedApprovals(event).length === 0) this.#calls.take(event)
  }

  /** Returns how the last prompt of the run has ended; undefined while one is open. */
  #ended(event: SessionEvent): End | undefined {
    if (event.type === 'session.deleted')
      return { state: 'error', code: 'session_deleted', message: 'the session of this thread was deleted' }
    const id = endedPrompt(event)
    if (id === undefined || !this.#open.delete(id)) return undefined
    this.#calls.close()
    if (this.#open.size === 0) return endOf(event)
    this.#isInRun = false
    return undefined
  }

  #inRun(event: SessionEvent): AgUiEvent[] {
    switch (event.type) {
      case 'span.model_request_start':
        return this.#requested(event)
      case 'span.model_request_end':
        this.#usage.ended(event)
        return this.#closeStep()
      case 'agent.message':
        return this.#said(event)
      case 'agent.thinking':
        return thought(event)
      case 'agent.tool_use':
      case 'agent.mcp_tool_use':
      case 'agent.custom_tool_use':
        return this.#called(event)
      case 'agent.tool_result':
      case 'agent.mcp_tool_result':
        return this.#returned(event)
      case 'user.custom_tool_result':
        this.#unanswered.delete(event.custom_tool_use_id)
        return []
      case 'session.warning':
        return [{ type: 'CUSTOM', name: 'session.warning', value: event.warning }]
      default:
        return this.#asks(event)
    }
  }

  #requested(event: EventOf<'span.model_request_start'>): AgUiEvent[] {
    this.#usage.started(event)
    this.#parent = undefined
    const closed = [...this.#texts.drop(), ...this.#closeStep()]
    this.#steps += 1
    this.#step = `${event.purpose ?? 'model_request'}_${this.#steps}`
    return [...closed, { type: 'STEP_STARTED', stepName: this.#step }]
  }

  #closeStep(): AgUiEvent[] {
    const stepName = this.#step
    this.#step = undefined
    return stepName === undefined ? [] : [{ type: 'STEP_FINISHED', stepName }]
  }

  #said({ id, content }: EventOf<'agent.message'>): AgUiEvent[] {
    const events = this.#texts.end(id, textOfContent(content))
    if (events.length > 0) this.#parent = id
    return events
  }

  /** Of the calls of other agents, the log shows those that ask. */
  #called(event: ToolUse): AgUiEvent[] {
    const parentMessageId = this.#parent
    // Without a text, the first call of an answer becomes the message of the others.
    this.#parent ??= event.id
    this.#unanswered.set(event.id, { isClient: event.type === 'agent.custom_tool_use' })
    const toolCallId = event.id
    const delta = typeof event.input === 'string' ? event.input : JSON.stringify(event.input)
    return [
      {
        type: 'TOOL_CALL_START',
        toolCallId,
        toolCallName: callName(event),
        ...(parentMessageId !== undefined && { parentMessageId }),
      },
      { type: 'TOOL_CALL_ARGS', toolCallId, delta },
      { type: 'TOOL_CALL_END', toolCallId },
    ]
  }

  #returned(event: ToolResult): AgUiEvent[] {
    if (isOfThread(event)) return []
    this.#parent = undefined
    const call = this.#calls.ofRuntime(event.type === 'agent.tool_result' ? event.tool_use_id : event.mcp_tool_use_id)
    // The front-end has the results of its own tools.
    if (!call || call.isClient) return []
    this.#unanswered.delete(call.id)
    const result: AgUiEvent = {
      type: 'TOOL_CALL_RESULT',
      messageId: event.id,
      toolCallId: call.id,
      content: resultText(event.content),
      role: 'tool',
    }
    const hasChanged = call.name === stateToolName && event.type === 'agent.tool_result' && event.is_error !== true
    const delta = listOf(recordOf(call.input)['operations']) as readonly PatchOperation[]
    return hasChanged ? [result, { type: 'STATE_DELTA', delta }] : [result]
  }

  #asks(event: SessionEvent): AgUiEvent[] {
    const reached = budgetReached(event)
    if (reached && event.type === 'session.status_idle') {
      const message = event.stop_details?.message ?? 'a budget of this session is used up'
      return this.#fail({ code: 'budget_reached', message: `${message}; the run continues once an admin raises it` })
    }
    if (awaitedApprovals(event).length === 0) return []
    const interrupts = this.#calls.questions.filter(({ isClient }) => !isClient).map(interruptOf)
    if (interrupts.length > 0) return this.#finish({ type: 'interrupt', interrupts })
    const unanswered = [...this.#unanswered]
    // The protocol allows no list that names fewer calls than the run has left unanswered.
    const isComplete = unanswered.every(([, { isClient }]) => isClient)
    return this.#finish({ type: 'success', ...(isComplete && { pendingToolCallIds: unanswered.map(([id]) => id) }) })
  }

  #end({ state, message = 'the run failed', code = 'error', result }: End): AgUiEvent[] {
    if (state === 'error') return this.#fail({ message, code })
    return this.#finish({ type: state === 'done' ? 'success' : 'cancelled' }, result)
  }

  #finish(outcome: Outcome, result?: unknown): AgUiEvent[] {
    const { thread_id: threadId, run_id: runId } = this.#run
    const value = result === undefined || result === null ? {} : { result }
    return this.#closed({ type: 'RUN_FINISHED', threadId, runId, outcome, ...value, ...this.#tokens })
  }

  #fail({ message, code }: { readonly message: string; readonly code: string }): AgUiEvent[] {
    return this.#closed({ type: 'RUN_ERROR', message, code, ...this.#tokens })
  }

  /** Closes what is open, and then the run. */
  #closed(last: AgUiEvent): AgUiEvent[] {
    this.#isOver = true
    return [...this.#texts.drop(), ...this.#closeStep(), last]
  }

  get #tokens() {
    const usage = this.#usage.entries
    return usage.length > 0 ? { usage } : {}
  }
}

/** Returns the prompt that an event ends. */
function endedPrompt(event: SessionEvent): string | undefined {
  if (isOfThread(event) || budgetReached(event)) return undefined
  return event.type === 'session.prompt_ended' || endsRun(event) ? event.prompt_id : undefined
}

function endOf(event: SessionEvent): End {
  if (event.type === 'session.prompt_ended')
    return { state: event.state, code: event.reason, message: `the prompt ended: ${event.reason}` }
  if (event.type === 'session.error') return { state: 'error', code: event.error.type, message: event.error.message }
  if (event.type !== 'session.status_idle') return { state: 'done' }
  return event.stop_details?.type === 'interrupted' ? { state: 'cancelled' } : { state: 'done', result: event.result }
}

function thought({ id: messageId, content = [] }: EventOf<'agent.thinking'>): AgUiEvent[] {
  const delta = content.map(block => textOf(recordOf(block)['thinking'] ?? recordOf(block)['text'])).join('')
  if (delta === '') return []
  return [
    { type: 'REASONING_START', messageId },
    { type: 'REASONING_MESSAGE_START', messageId, role: 'reasoning' },
    { type: 'REASONING_MESSAGE_CONTENT', messageId, delta },
    { type: 'REASONING_MESSAGE_END', messageId },
    { type: 'REASONING_END', messageId },
  ]
}

/** Returns a result as text; files are only named. */
const resultText = (content: readonly object[] = []): string =>
  content.map(block => textOf(recordOf(block)['text']) || `[${textOf(recordOf(block)['type']) || 'content'}]`).join('')
