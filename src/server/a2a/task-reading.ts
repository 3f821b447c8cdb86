import type {
  A2aArtifact,
  A2aMessage,
  A2aPart,
  A2aStreamResponse,
  A2aTask,
  A2aTaskState,
  A2aTaskStatus,
} from '../../contract/a2a-objects.ts'
import { awaitedApprovals, budgetReached, endsRun, type SessionEvent, textOfContent } from '../../contract/events.ts'
import type { Preview } from '../sessions/log/remote-previews.ts'
import { GeneratedTexts, type TextChunk } from './generated-texts.ts'
import { type Question, questionParts, type ToolCall } from './questions.ts'

/** The prompt of a task. */
export interface TaskPrompt {
  readonly id: string
  readonly session_id: string
  /** Id of the client's message. */
  readonly message_id: string | null
  readonly created_at: Date
}

/** The events of a task from the start of its run to its end. */
interface Ran {
  readonly from: number
  readonly to: number
  readonly lastEventId: string
}

type EventOf<Type extends SessionEvent['type']> = Extract<SessionEvent, { readonly type: Type }>

const ended: readonly A2aTaskState[] = ['TASK_STATE_COMPLETED', 'TASK_STATE_FAILED', 'TASK_STATE_CANCELED']
const asking: readonly A2aTaskState[] = ['TASK_STATE_INPUT_REQUIRED', 'TASK_STATE_AUTH_REQUIRED']
const stateOfEnd = {
  done: 'TASK_STATE_COMPLETED',
  error: 'TASK_STATE_FAILED',
  cancelled: 'TASK_STATE_CANCELED',
} as const

/**
 * Reads the log of a session event by event into the task of one of its prompts. Does no I/O. The log alone determines the task,
 * so that every process and every restart returns the same.
 */
export class TaskReading {
  readonly #prompt: TaskPrompt
  readonly #artifacts: A2aArtifact[] = []
  readonly #history: A2aMessage[] = []
  /** Tool calls of the run that require an answer from outside, by event id. */
  readonly #calls = new Map<string, ToolCall>()
  readonly #pending = new Set<string>()
  readonly #generated = new GeneratedTexts()
  #status: A2aTaskStatus
  /** True while a run includes the prompt. */
  #isInRun = false
  /** Event with which the first run began. */
  #startSeq: number | undefined
  #ran: Ran | undefined

  constructor(prompt: TaskPrompt) {
    this.#prompt = prompt
    this.#status = { state: 'TASK_STATE_SUBMITTED', timestamp: prompt.created_at.toISOString() }
  }

  get state(): A2aTaskState {
    return this.#status.state
  }

  /** True once no event changes the task. */
  get isOver(): boolean {
    return ended.includes(this.state)
  }

  /** True when the task waits for a person. */
  get isAsking(): boolean {
    return asking.includes(this.state)
  }

  /** Events of an ended task; undefined before, and if it never ran. */
  get ran(): Ran | undefined {
    return this.#ran
  }

  /** The tool calls that the task waits for. */
  get questions(): readonly Question[] {
    return [...this.#pending].map(id => ({ id, ...(this.#calls.get(id) ?? unknownCall) }))
  }

  /** Returns the task with at most `historyLength` of its newest messages; undefined: all. */
  task(historyLength?: number): A2aTask {
    const history = historyLength === undefined ? this.#history : this.#history.slice(-historyLength)
    return {
      id: this.#prompt.id,
      contextId: this.#prompt.session_id,
      status: this.#status,
      artifacts: [...this.#artifacts],
      ...(historyLength !== 0 && { history: [...history] }),
    }
  }

  /** Returns the changes that the event makes. */
  take(event: SessionEvent): A2aStreamResponse[] {
    if (this.isOver) return []
    switch (event.type) {
      case 'user.message':
        return this.#asked(event)
      case 'session.status_running':
        return event.prompt_id === this.#prompt.id || this.#isInRun ? this.#working(event) : []
      case 'span.model_request_start':
        return this.#requested(event)
      case 'agent.message':
        return this.#isInRun ? this.#said(event) : []
      case 'agent.tool_use':
      case 'agent.mcp_tool_use':
        if (event.evaluated_permission === 'ask') this.#called(event, false)
        return []
      case 'agent.custom_tool_use':
        this.#called(event, true)
        return []
      case 'user.custom_tool_result':
        return this.#returned(event)
      case 'user.tool_confirmation':
        return this.#confirmed(event)
      default:
        return this.#ending(event)
    }
  }

  /** Returns the change that a piece of an answer makes which is being generated. The log has the whole answer later. */
  preview(preview: Preview): A2aStreamResponse[] {
    if (this.isOver || !this.#isInRun) return []
    if (preview.type === 'event_start') {
      this.#generated.begin(preview.event.id)
      return []
    }
    const chunk = this.#generated.add(preview.event_id, preview.delta.content.text)
    return chunk ? [this.#chunk(chunk)] : []
  }

  /** Adds the files that the task has written. */
  addFiles(files: readonly A2aArtifact[]): A2aStreamResponse[] {
    return files.map(artifact => this.#added(artifact))
  }

  #asked(event: EventOf<'user.message'>): A2aStreamResponse[] {
    if (event.prompt_id !== this.#prompt.id) return []
    const parts = event.content.map(part => ({ text: part.type === 'file' ? `[file ${part.name}]` : part.text }))
    this.#history.push(this.#messageOf(this.#prompt.message_id ?? event.id, 'ROLE_USER', parts))
    return this.#becomes('TASK_STATE_SUBMITTED', event)
  }

  #working(event: SessionEvent): A2aStreamResponse[] {
    this.#isInRun = true
    this.#startSeq ??= event.seq
    this.#pending.clear()
    return this.state === 'TASK_STATE_WORKING' ? [] : this.#becomes('TASK_STATE_WORKING', event)
  }

  #requested(event: EventOf<'span.model_request_start'>): A2aStreamResponse[] {
    const dropped = this.#dropped()
    // A prompt that joined a running turn gets no `session.status_running`.
    const isJoining = event.prompt_ids?.includes(this.#prompt.id) && !this.#isInRun
    return isJoining ? [...dropped, ...this.#working(event)] : dropped
  }

  #dropped(): A2aStreamResponse[] {
    return this.#generated.drop().map(chunk => this.#chunk(chunk))
  }

  /** An answer whose start was sent gets only its rest. */
  #said({ id, content }: EventOf<'agent.message'>): A2aStreamResponse[] {
    const text = textOfContent(content)
    const rest = this.#generated.end(id, text)
    const whole = this.#result(id, textParts(text))
    return rest ? [this.#chunk(rest)] : whole
  }

  #called({ id, name, input }: Pick<ToolCall, 'name' | 'input'> & { readonly id: string }, isCustom: boolean): void {
    this.#calls.set(id, { name, input, isCustom })
  }

  #returned(event: EventOf<'user.custom_tool_result'>): A2aStreamResponse[] {
    const { id, custom_tool_use_id: callId, content, is_error } = event
    if (!this.#pending.delete(callId)) return []
    const data = { call_id: callId, ...(is_error === true && { is_error }) }
    const parts = [{ text: textOfContent(content) }, { data, mediaType: 'application/json' }]
    this.#history.push(this.#messageOf(id, 'ROLE_USER', parts))
    return this.#answered(event)
  }

  /** Shows the questions that are left. */
  #answered(event: SessionEvent): A2aStreamResponse[] {
    return this.#pending.size > 0
      ? this.#becomes('TASK_STATE_INPUT_REQUIRED', event, questionParts(this.questions))
      : this.#becomes('TASK_STATE_WORKING', event)
  }

  #confirmed(event: EventOf<'user.tool_confirmation'>): A2aStreamResponse[] {
    if (!this.#pending.delete(event.tool_use_id)) return []
    const reason = event.deny_message ? `: ${event.deny_message}` : ''
    const text = event.result === 'allow' ? 'approve' : `deny${reason}`
    const data = { decision: event.result === 'allow' ? 'approve' : 'deny', approval_id: event.tool_use_id }
    this.#history.push(this.#messageOf(event.id, 'ROLE_USER', [{ text }, { data, mediaType: 'application/json' }]))
    return this.#answered(event)
  }

  #ending(event: SessionEvent): A2aStreamResponse[] {
    if (event.type === 'session.deleted') return this.#becomes('TASK_STATE_CANCELED', event)
    if (event.type === 'session.prompt_ended') {
      return event.prompt_id === this.#prompt.id
        ? [...this.#dropped(), ...this.#becomes(stateOfEnd[event.state], event)]
        : []
    }
    const approvals = awaitedApprovals(event)
    if (this.#isInRun && approvals.length > 0) return this.#asks(event, approvals)
    if (this.#isInRun && budgetReached(event)) {
      this.#isInRun = false
      const why = event.stop_details?.message ?? 'a budget of this session is used up'
      return this.#becomes('TASK_STATE_AUTH_REQUIRED', event, [{ text: `${why}; an admin can raise it` }])
    }
    return endsRun(event) && event.prompt_id === this.#prompt.id ? [...this.#dropped(), ...this.#ended(event)] : []
  }

  #asks(event: SessionEvent, approvals: readonly string[]): A2aStreamResponse[] {
    for (const id of approvals) this.#pending.add(id)
    const parts = questionParts(this.questions)
    this.#history.push(this.#messageOf(event.id, 'ROLE_AGENT', parts))
    return this.#becomes('TASK_STATE_INPUT_REQUIRED', event, parts)
  }

  #ended(event: SessionEvent): A2aStreamResponse[] {
    if (event.type === 'session.error')
      return this.#becomes('TASK_STATE_FAILED', event, [{ text: event.error.message }])
    if (event.stop_details?.type === 'interrupted') return this.#becomes('TASK_STATE_CANCELED', event)
    const { result } = event
    const typed = [{ data: result, mediaType: 'application/json' }]
    const results = result === undefined ? [] : this.#result(event.id, typed, 'result')
    return [...results, ...this.#becomes('TASK_STATE_COMPLETED', event)]
  }

  #result(artifactId: string, parts: A2aPart[], name?: string): A2aStreamResponse[] {
    if (parts.length === 0) return []
    return [this.#added({ artifactId, ...(name !== undefined && { name }), parts })]
  }

  #added(artifact: A2aArtifact): A2aStreamResponse {
    this.#artifacts.push(artifact)
    return { artifactUpdate: { ...this.#place, artifact, append: false, lastChunk: true } }
  }

  #chunk({ artifactId, text, append, lastChunk }: TextChunk): A2aStreamResponse {
    const artifact = { artifactId, parts: [{ text, mediaType: 'text/plain' }] }
    return { artifactUpdate: { ...this.#place, artifact, append, lastChunk } }
  }

  #becomes(
    state: A2aTaskState,
    { id, seq, processed_at: timestamp }: SessionEvent,
    parts?: A2aPart[],
  ): A2aStreamResponse[] {
    const message = parts && this.#messageOf(id, 'ROLE_AGENT', parts)
    this.#status = { state, timestamp, ...(message && { message }) }
    if (this.isOver && this.#startSeq !== undefined) this.#ran = { from: this.#startSeq, to: seq, lastEventId: id }
    return [{ statusUpdate: { ...this.#place, status: this.#status } }]
  }

  get #place() {
    return { taskId: this.#prompt.id, contextId: this.#prompt.session_id }
  }

  #messageOf(messageId: string, role: A2aMessage['role'], parts: A2aPart[]): A2aMessage {
    return { messageId, ...this.#place, role, parts }
  }
}

/** For a call whose event is not in the log of the task. */
const unknownCall: ToolCall = { name: 'a tool', input: {}, isCustom: false }

const textParts = (text: string): A2aPart[] => (text === '' ? [] : [{ text, mediaType: 'text/plain' }])
