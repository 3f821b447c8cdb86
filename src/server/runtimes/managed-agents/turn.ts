import type { NewEvent } from '../../../contract/events.ts'
import { type Json, nonEmptyText, textIn, textOf } from '../../platform/json.ts'
import type { Batch, RunContext, RunPrompt, RunSession } from '../runtime.ts'
import type { ManagedAgentsApi } from './api.ts'
import { messageOf, textOfMessage } from './bodies.ts'
import type { Call, LogIndex } from './log-index.ts'
import { type RunState, type SentMessage, storedState } from './run-state.ts'

/** Confirmation to send for a tool call that asked. */
export interface Answer {
  readonly call: Call
  readonly event: Json
}

interface Parts {
  readonly api: ManagedAgentsApi
  readonly session: RunSession
  readonly prompt: RunPrompt
  readonly context: RunContext
  readonly logIndex: LogIndex
  readonly state: RunState
  /** Id of the session at the provider. */
  readonly sessionId: string
  readonly clean: (text: string) => string
}

/** Tolerance for clock differences in the order of the list. */
const marginMs = 5 * 60_000

/** A run in progress: the known state of the provider's session, and events that are not stored yet. */
export class Turn {
  readonly api: ManagedAgentsApi
  readonly prompt: RunPrompt
  readonly context: RunContext
  readonly logIndex: LogIndex
  readonly sessionId: string
  readonly clean: (text: string) => string
  readonly message: Json

  /** Ids of processed events. */
  readonly seen = new Set<string>()
  /** Ids in the answers that the provider has received. */
  readonly answered = new Set<string>()
  /** Event ids of calls of client-side tools. */
  readonly customCalls = new Set<string>()
  /** Event ids for previews, by the provider's event id. */
  readonly previewIds = new Map<string, string>()
  /** Decisions that are not sent yet. */
  answers: readonly Answer[] = []

  /** The provider was running, or waiting for people, by its last event. */
  isBusy = false
  /** The next events belong to our message, not to an earlier one. */
  isPast: boolean
  /** Our message is in the list. */
  isFound = false
  /** The provider processes our message: the next end is that of our run. */
  isProcessed = false
  /** An event of our turn was appended. */
  hasWorked = false
  /** An end of an unknown turn, or a question that may be answered: decided after the rest of the list. */
  deferred: Json | undefined
  /** A running status in the list; dropped when a later event of the list is in the log. */
  deferredRunning: Json | undefined
  /** Deadline of the wait for the end of an earlier turn. */
  settleUntil: number | undefined
  /** The list of the current attachment is complete. */
  isListed = false
  /** The list is complete, and everything pending was sent. */
  isAttached = false
  /** Number of events without an id in the list of the current attachment. */
  listedUnnamed = 0
  lastId: string | undefined
  readonly #text: string
  #state: RunState
  #saved: SentMessage | undefined
  #pending: NewEvent[] = []
  #appended = 0
  #listedSince = Number.NaN

  constructor({ api, prompt, context, logIndex, state, sessionId, clean }: Parts) {
    this.api = api
    this.prompt = prompt
    this.context = context
    this.logIndex = logIndex
    this.sessionId = sessionId
    this.clean = clean
    this.message = messageOf(prompt)
    this.lastId = logIndex.lastSourceId
    this.#text = textOfMessage(this.message)
    this.#state = state
    this.#saved = state.message
    this.isPast = this.sent !== undefined && this.sent.before === null
  }

  /** Delivery state of our message; undefined before the first try. */
  get sent(): SentMessage | undefined {
    const { message } = this.#state
    return message?.prompt_id === this.prompt.id ? message : undefined
  }

  get isSent(): boolean {
    return this.sent?.is_sent ?? false
  }

  get unnamed(): number {
    return this.#state.unnamed
  }

  /** Time from which the list is read; undefined for the whole list while the start of our turn is unknown. */
  get since(): string | undefined {
    const { last_processed_at, unnamed } = this.#state
    const isOpen = this.sent !== undefined && !(this.isPast && this.isSent)
    const at = Date.parse(last_processed_at ?? '')
    return isOpen || unnamed > 0 || Number.isNaN(at) ? undefined : new Date(at - marginMs).toISOString()
  }

  beginAttachment(): void {
    this.#listedSince = Date.parse(this.since ?? '')
    this.isListed = false
    this.isAttached = false
    this.listedUnnamed = 0
  }

  change(changes: Partial<RunState>): void {
    this.#state = { ...this.#state, ...changes }
  }

  /** Stores that the provider has our message, unless that is stored. */
  async saveFoundMessage(): Promise<void> {
    const { sent } = this
    if (sent?.is_sent && sent !== this.#saved) await this.saveSentMessage(sent)
  }

  /** Stores the delivery state at once. */
  async saveSentMessage(message: SentMessage): Promise<void> {
    this.#saved = message
    this.change({ message })
    await this.context.saveRefs({ provider_run_id: message.message_id, runtime_state: storedState(this.#state) })
  }

  /**
   * True for an event before the start of the list, which was processed earlier: some streams replay the whole session.
   */
  isReplayed({ processed_at }: Json): boolean {
    return Date.parse(textOf(processed_at)) < this.#listedSince
  }

  isRecorded(id: string): boolean {
    return this.seen.has(id) || this.logIndex.idOf(id) !== undefined
  }

  /** Recognizes our message by its id or, while the id is unknown, by its text after all earlier events. */
  isOurMessage(event: Json): boolean {
    const { sent } = this
    if (sent === undefined || event['type'] !== 'user.message') return false
    if (sent.message_id !== null) return textIn(event['id']) === sent.message_id
    return this.isPast && textOfMessage(event) === this.#text
  }

  /** Adds an event to the next batch; `source` is the provider event that it corresponds to. */
  append(event: NewEvent, source: Json | undefined): void {
    const sourceId = nonEmptyText(source?.['id'])
    const named = sourceId === undefined ? event : { ...event, source_event_id: sourceId }
    this.logIndex.add(named)
    this.#pending.push(named)
    this.#appended += 1
    const at = textOf(source?.['processed_at'])
    if (at !== '') this.change({ last_processed_at: at })
  }

  /** Number of events appended so far. */
  get appendedCount(): number {
    return this.#appended
  }

  get pendingCount(): number {
    return this.#pending.length
  }

  /** Yields the appended events as one batch, with the state up to which the provider's events were read. */
  *flush(): Generator<Batch> {
    const events = this.#pending
    if (events.length === 0) return
    this.#pending = []
    yield { events, refs: { runtime_state: storedState(this.#state) } }
  }
}
