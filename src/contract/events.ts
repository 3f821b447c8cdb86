import { type Static, Type } from 'typebox'
import { named } from './named.ts'
import type { eventSchemas } from './session-events.ts'

/**
 * A stored event of a session: these four fields, then the payload of its type. Does not check the payload, because a log may
 * contain types of a runtime or of a later version; the static type is the union. Dialects: section 1.6.
 */
export const SessionEvent = named(
  'SessionEvent',
  Type.Unsafe<SessionEvent>(
    Type.Object(
      {
        id: Type.String(),
        type: Type.String(),
        processed_at: Type.String({ format: 'date-time' }),
        seq: Type.Integer({ description: '1, 2, 3 ... without a gap, the same in list and stream' }),
      },
      { additionalProperties: true },
    ),
  ),
)

/**
 * The type of an event that the contract does not list: a runtime's own, or one of a later version. Any text at run time; as
 * a type it equals no literal, so that a `switch` over `event.type` narrows the listed types and leaves the others to `default`.
 */
declare enum OtherType {
  Unlisted = '',
}

type OtherEvent = {
  readonly id: string
  readonly type: OtherType
  readonly processed_at: string
  readonly seq: number
  readonly source_event_id?: string
}

type Immutable<Value> = Value extends readonly (infer Item)[]
  ? readonly Immutable<Item>[]
  : Value extends object
    ? { readonly [Key in keyof Value]: Immutable<Value[Key]> }
    : Value
type Listed = Static<(typeof eventSchemas)[number]>
type Stored<Event = Listed> =
  | (Event extends unknown ? { readonly [Key in keyof Event]: Immutable<Event[Key]> } : never)
  | OtherEvent
type Unstored<Event = Stored> = Event extends unknown
  ? Omit<Event, 'id' | 'seq' | 'processed_at'> & { readonly id?: string }
  : never

type FieldsOf<Union> = Union extends unknown ? keyof Union : never
/** Each member of a union with the fields of the others as absent, so that `event.prompt_id` needs no `switch`. */
type Exclusive<Member, Field extends PropertyKey = FieldsOf<Member>> = Member extends unknown
  ? Member & { readonly [Key in Exclude<Field, keyof Member>]?: never }
  : never

/**
 * A stored event, discriminated by `type`. A field of another type is undefined. Types that the contract does not list are
 * `OtherType`: skip them, because runtimes and later versions add some.
 */
export type SessionEvent = Exclusive<Stored>

type InFeed<Event> = Event extends unknown ? Omit<Event, 'session_id'> & { readonly session_id: string } : never

/** An event in the stream over many sessions. `session_id` is that of its log, in every event. */
export type FeedEvent = InFeed<SessionEvent>

/** An event before it is stored: the log adds `id`, `seq` and `processed_at`. */
export type NewEvent = Exclusive<Unstored>

/** The new event of one type. */
export type NewEventOf<Type extends Listed['type']> = Extract<NewEvent, { readonly type: Type }>

type FieldOf<Type extends Listed['type'], Field extends keyof NewEventOf<Type>> = NonNullable<NewEventOf<Type>[Field]>

/** Reason why a run is idle. */
export type StopReason = FieldOf<'session.status_idle', 'stop_reason'>
/** Cause of a stop, with a message. */
export type StopDetails = FieldOf<'session.status_idle', 'stop_details'>

/** Content blocks of messages and results. */
export type Content = FieldOf<'agent.message', 'content'>

export interface TextBlock {
  readonly type: 'text'
  readonly text: string
}

/** Returns the text of content blocks without a separator; blocks of other types have none. */
export const textOfContent = (content: readonly object[] = []): string =>
  content.map(block => textOfBlock(block) ?? '').join('')

/** Returns the text of a content block; undefined for a block without one. */
export const textOfBlock = (block: object): string | undefined =>
  'text' in block && typeof block.text === 'string' ? block.text : undefined

/** Types after which no prompt runs until the next `session.status_running`. */
export function endsRun(event: NewEvent): boolean {
  if (event.type === 'session.status_idle') return awaitedApprovals(event).length === 0
  if (event.type === 'session.deleted') return true
  return event.type === 'session.error' && event.error.retry_status?.type !== 'retrying'
}

/** Returns the ids of the tool calls that wait for an answer from outside since this event; empty for other events. */
export const awaitedApprovals = (event: NewEvent): readonly string[] => {
  const reason = stopReasonOf(event)
  return reason?.type === 'requires_action' ? (reason.event_ids ?? []) : []
}

/**
 * Reports whether the log shows the event for a session that this one has called. The conversation of this session does
 * not contain it.
 */
export const isOfThread = (event: NewEvent): boolean =>
  event.session_thread_id !== undefined || event.session_thread_ids !== undefined

/** Returns the id of the tool call that an event of the session itself ends; undefined for other events. */
export function endedToolCall(event: NewEvent): string | undefined {
  if (isOfThread(event)) return undefined
  switch (event.type) {
    case 'agent.tool_result':
      return event.tool_use_id
    case 'agent.mcp_tool_result':
      return event.mcp_tool_use_id
    case 'user.custom_tool_result':
      return event.custom_tool_use_id
    default:
      return undefined
  }
}

/** `session.prompt_ended`: the end of a prompt that no status event reports. */
export type PromptEnded = Pick<NewEventOf<'session.prompt_ended'>, 'prompt_id' | 'run_id' | 'state' | 'reason'>

/** `stop_reason` of a session that a budget or a freeze has stopped. */
export type BudgetReached = Extract<StopReason, { readonly type: 'budget_reached' }>

/** Returns the stop reason of a run that a budget stopped; undefined for other events. */
export const budgetReached = (event: NewEvent): BudgetReached | undefined => {
  const reason = stopReasonOf(event)
  return reason?.type === 'budget_reached' ? reason : undefined
}

/** Called sessions have stop reasons, too, in the log of the calling one. */
const stopReasonOf = (event: NewEvent): StopReason | undefined =>
  event.type === 'session.status_idle' ? event.stop_reason : undefined

/** `agent.thread_context_compacted`: a summary replaces the start of the conversation. */
export type ContextCompacted = Required<
  Pick<
    NewEventOf<'agent.thread_context_compacted'>,
    'summary' | 'kept_from_seq' | 'waiting_seqs' | 'prompt_ids' | 'tokens_before' | 'tokens_after' | 'reason'
  >
> &
  Pick<NewEventOf<'agent.thread_context_compacted'>, 'found_tools' | 'outcome'>

/** Only the built-in runtime writes `kept_from_seq`, and with it all fields; others report only that they compacted. */
const isOwnCompaction = (event: NewEvent): event is NewEventOf<'agent.thread_context_compacted'> & ContextCompacted =>
  event.type === 'agent.thread_context_compacted' && event.kept_from_seq !== undefined

/** Returns the compaction of an event; undefined for other events, and for a compaction inside another runtime. */
export const contextCompacted = (event: NewEvent): ContextCompacted | undefined =>
  isOwnCompaction(event) ? event : undefined

/** Returns whether the conversation after the compaction is built from the event. */
export const isRetainedBy = ({ kept_from_seq, waiting_seqs }: ContextCompacted, seq: number): boolean =>
  seq >= kept_from_seq || waiting_seqs.includes(seq)
