import type { NewEvent } from '../../../contract/events.ts'
import { type Json, nonEmptyText, textIn, textOf } from '../../platform/json.ts'
import type { Batch, RunContext, RunPrompt, RunSession } from '../runtime.ts'
import type { ManagedAgentsApi } from './api.ts'
import { messageOf, textOfMessage } from './bodies.ts'
import type { Book, Call } from './book.ts'
import { type RunState, type SentMessage, storedState } from './run-state.ts'

/** What is sent for a tool call that asked. */
export interface Answer {
  readonly call: Call
  readonly event: Json
}

interface Parts {
  readonly api: ManagedAgentsApi
  readonly session: RunSession
  readonly prompt: RunPrompt
  readonly context: RunContext
  readonly book: Book
  readonly state: RunState
  /** Id of the session over there. */
  readonly sessionId: string
  readonly clean: (text: string) => string
}

/** The list may be ordered by a clock that is not quite even. */
const marginMs = 5 * 60_000

/** One run while it goes on: what is known of the session over there, and what is not yet stored here. */
export class Turn {
  readonly api: ManagedAgentsApi
  readonly prompt: RunPrompt
  readonly context: RunContext
  readonly book: Book
  readonly sessionId: string
  readonly clean: (text: string) => string
  readonly message: Json

  /** Ids of events that were looked at. */
  readonly seen = new Set<string>()
  /** Calls that were answered over there: the ids that the answers name. */
  readonly answered = new Set<string>()
  /** Calls of tools that only a client could run, by the ids of their events. */
  readonly customCalls = new Set<string>()
  /** Ids of our events to come, by the ids under which their text is shown. */
  readonly shown = new Map<string, string>()
  /** What people said, not yet passed on. */
  answers: readonly Answer[] = []

  /** The server was at work, or waited for people, when it was last heard of. */
  isBusy = false
  /** What comes next belongs to our message, and not to one before. */
  isPast: boolean
  /** Our message is in the list. */
  isFound = false
  /** Its turn has come: what ends from here on is our run. */
  isProcessed = false
  /** Something of our turn was taken over. */
  hasWorked = false
  /** An end whose turn is not known, or a question that may have its answer: the rest of the list decides. */
  held: Json | undefined
  /** Work that goes on, as the list says; not told when what is listed behind it was taken over before. */
  heldRunning: Json | undefined
  /** Until then the end of an earlier turn is waited for. */
  settleUntil: number | undefined
  /** The list of the present attachment is read. */
  isListed = false
  /** ... and all that had to be sent then is sent. */
  isAttached = false
  /** Events without an id that the list has shown in the present attachment. */
  listedUnnamed = 0
  lastId: string | undefined
  readonly #text: string
  #state: RunState
  #remembered: SentMessage | undefined
  #pending: NewEvent[] = []
  #told = 0
  #listedSince = Number.NaN

  constructor({ api, prompt, context, book, state, sessionId, clean }: Parts) {
    this.api = api
    this.prompt = prompt
    this.context = context
    this.book = book
    this.sessionId = sessionId
    this.clean = clean
    this.message = messageOf(prompt)
    this.lastId = book.lastSourceId
    this.#text = textOfMessage(this.message)
    this.#state = state
    this.#remembered = state.message
    this.isPast = this.sent !== undefined && this.sent.before === null
  }

  /** Our message on its way; undefined before the first try. */
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

  /** From when on the list is read: whole while it is open where our turn begins. */
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

  /** Stores that our message was found over there, unless that is known already. */
  async rememberFound(): Promise<void> {
    const { sent } = this
    if (sent?.is_sent && sent !== this.#remembered) await this.rememberSent(sent)
  }

  /** Stores what was sent, at once. */
  async rememberSent(message: SentMessage): Promise<void> {
    this.#remembered = message
    this.change({ message })
    await this.context.remember({ provider_run_id: message.message_id, runtime_state: storedState(this.#state) })
  }

  /** Some streams begin at the first event of the session. What is older than the list that was asked for was seen before. */
  isReplayed({ processed_at }: Json): boolean {
    return Date.parse(textOf(processed_at)) < this.#listedSince
  }

  isKnown(id: string): boolean {
    return this.seen.has(id) || this.book.idOf(id) !== undefined
  }

  /** By its id, or, as long as nobody has told that, by its words behind all that was there before. */
  isOurMessage(event: Json): boolean {
    const { sent } = this
    if (sent === undefined || event['type'] !== 'user.message') return false
    if (sent.message_id !== null) return textIn(event['id']) === sent.message_id
    return this.isPast && textOfMessage(event) === this.#text
  }

  /** Adds an event to the next batch; `source` is the one over there that it stands for. */
  tell(event: NewEvent, source: Json | undefined): void {
    const sourceId = nonEmptyText(source?.['id'])
    const named = sourceId === undefined ? event : { ...event, source_event_id: sourceId }
    this.book.add(named)
    this.#pending.push(named)
    this.#told += 1
    const at = textOf(source?.['processed_at'])
    if (at !== '') this.change({ last_processed_at: at })
  }

  /** How many events were told so far. */
  get told(): number {
    return this.#told
  }

  get pendingCount(): number {
    return this.#pending.length
  }

  /** What was told, to be stored together with the place that it was read up to. */
  *flush(): Generator<Batch> {
    const events = this.#pending
    if (events.length === 0) return
    this.#pending = []
    yield { events, refs: { runtime_state: storedState(this.#state) } }
  }
}
