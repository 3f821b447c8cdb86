import type { Content, SessionEvent, StopDetails, StopReason } from '../../../src/contract/events.ts'
import type { Bookmarks } from './fold/bookmarks.ts'
import type { EventLog } from './fold/event-log.ts'

/** The event of one type. */
export type EventOf<Type extends SessionEvent['type']> = Extract<SessionEvent, { readonly type: Type }>

/** Times are texts in ISO 8601, as in `processed_at`. */
export type Time = string

/**
 * What the viewer shows of a session. Immutable: a change copies only the path to what it changes, so that an unchanged
 * turn, group or item is the same object as before.
 */
export interface View {
  /** The events that the view was built from. */
  readonly log: EventLog
  /** In the order in which the prompts started, with what happened between them. */
  readonly turns: readonly Turn[]
  /** Prompts that have not started, in the order in which they were stored. */
  readonly waiting: readonly Prompt[]
  /** The turn that runs or is paused; undefined between turns. */
  readonly run: Run | undefined
  /** How the last turn ended; undefined while one runs, and before the first. */
  readonly lastEnd: TurnEnd | undefined
  /** Texts that the model is writing, by the deltas so far. Read them through `liveTexts`. */
  readonly live: readonly LiveText[]
  /** Title of the last `session.updated`; undefined when none was read. */
  readonly title: string | undefined
  readonly isDeleted: boolean
  /** Events that were left out because others are missing before them: the reader must load those. */
  readonly gap: Gap | undefined
  /** Places of what later events may change. Only the fold reads them. */
  readonly bookmarks: Bookmarks
}

/** Sequence numbers that are missing between two events. */
export interface Gap {
  readonly from: number
  readonly to: number
}

export type PromptState = 'waiting' | 'running' | 'paused' | 'done' | 'failed' | 'stopped' | 'withdrawn'

/** A prompt of the queue. */
export interface Prompt {
  readonly id: string
  /** `unknown`: its message is not among the events that were read. */
  readonly kind: 'message' | 'compact' | 'unknown'
  /** Event that stored it. */
  readonly eventId: string | undefined
  readonly content: EventOf<'user.message'>['content']
  readonly model: string | undefined
  readonly queuedAt: Time | undefined
  readonly state: PromptState
  /** Reason of `session.prompt_ended`, or why its run was stopped. */
  readonly reason: string | undefined
}

/** A prompt with what the agent did for it; or, without a prompt, what happened between two of them. */
export interface Turn {
  readonly key: string
  /** `between`: events outside of a run. */
  readonly kind: 'prompt' | 'between'
  /** Undefined between turns, and for a turn whose start was not read. */
  readonly prompt: Prompt | undefined
  readonly runId: string | undefined
  readonly startedAt: Time | undefined
  readonly groups: readonly Group[]
  /** Undefined while it runs. */
  readonly end: TurnEnd | undefined
  /** The last `session.usage` of the turn. */
  readonly usage: SessionUsage | undefined
  /** `session.usage` before the turn; undefined when the start of the log was not read. */
  readonly usageBefore: SessionUsage | undefined
  /** Events that the row of the prompt shows, besides its message. */
  readonly eventIds: readonly string[]
}

export type TurnOutcome = 'done' | 'failed' | 'stopped' | 'withdrawn'

/** End of a turn. */
export interface TurnEnd {
  readonly outcome: TurnOutcome
  readonly at: Time
  readonly eventId: string
  readonly stopReason: StopReason | undefined
  readonly stopDetails: StopDetails | undefined
  readonly error: EventOf<'session.error'>['error'] | undefined
  /** Reason of `session.prompt_ended`. */
  readonly reason: string | undefined
  /** Value of a run with a result schema. */
  readonly result: unknown
}

export type GroupState = 'open' | 'done' | 'failed' | 'interrupted' | 'lost'

/**
 * A model request with what came of it. Without `request` events the group collects what a runtime without them, or the
 * time before the first request, has logged.
 */
export interface Group {
  readonly key: string
  readonly kind: 'request' | 'other'
  /** Number of the request in its turn, from 1; 0 for other groups. */
  readonly number: number
  readonly model: string | undefined
  readonly isCompaction: boolean
  /** `lost`: the process that made the request stopped; the next owner repeats it. */
  readonly state: GroupState
  readonly startedAt: Time
  readonly endedAt: Time | undefined
  readonly usage: Usage | undefined
  /** The service estimated `usage`. */
  readonly isEstimated: boolean
  /** The failure after which the request is tried again. */
  readonly retry: Retry | undefined
  /** Tool results up to that of this call were trimmed for the request. */
  readonly trimmedUntil: string | undefined
  /** Prompts that joined the turn with this request. */
  readonly joined: readonly Prompt[]
  readonly items: readonly Item[]
  /** Events that the row of the group shows. */
  readonly eventIds: readonly string[]
}

/** Tokens of a model request. `input` does not include those read from or written to the cache. */
export interface Usage {
  readonly input: number
  readonly output: number
  readonly cacheRead: number
  readonly cacheWrite: number
}

/** Totals of the session as its runtime reports them. */
export interface SessionUsage extends Usage {
  readonly contextTokens: number | undefined
  readonly contextWindow: number | undefined
  /** US dollars; undefined when the runtime does not report its cost. */
  readonly costUsd: number | undefined
}

/** A wait before the next try of a model request. */
export interface Retry {
  /** Number of the failed try, from 1; undefined when the runtime does not report it. */
  readonly attempt: number | undefined
  readonly since: Time
  readonly nextAt: Time | undefined
  readonly message: string
}

export type Item = TextItem | ThinkingItem | ToolCall | Thread | Note

export interface TextItem {
  readonly kind: 'text'
  /** Id of the event, as in all items. */
  readonly key: string
  readonly at: Time
  readonly content: Content
  /** The run was stopped while the model wrote it. */
  readonly isInterrupted: boolean
}

export interface ThinkingItem {
  readonly kind: 'thinking'
  readonly key: string
  readonly at: Time
  /** Empty when the provider redacted it. */
  readonly text: string
}

export type CallState =
  | 'running'
  | 'waiting for approval'
  | 'waiting for client'
  | 'waiting for subagent'
  | 'done'
  | 'failed'
  | 'denied'
  | 'expired'
  | 'stopped'
  | 'outcome unknown'

export interface ToolCall {
  readonly kind: 'tool'
  readonly key: string
  /** Id of the call at the runtime. */
  readonly callId: string
  readonly name: string
  /** MCP server of the tool. */
  readonly server: string | undefined
  /** `client`: a program outside the service sends the result. */
  readonly runsAt: 'service' | 'client'
  /** A text when the model wrote no JSON object. */
  readonly input: unknown
  readonly state: CallState
  readonly at: Time
  readonly approval: Approval | undefined
  readonly result: CallResult | undefined
  /** Time at which the call ended: with a result, or with its run. */
  readonly endedAt: Time | undefined
  /** Seconds that a client has for its answer. */
  readonly timeoutSeconds: number | undefined
  /** The called session that made the call; undefined for the session itself. */
  readonly threadId: string | undefined
  /** The session that the call started. */
  readonly startedThreadId: string | undefined
  /** Events that the row shows, besides that of the call. */
  readonly eventIds: readonly string[]
}

export interface Approval {
  /** `cancelled`: the call ended before anyone answered. */
  readonly state: 'pending' | 'allowed' | 'denied' | 'expired' | 'cancelled'
  readonly decidedAt: Time | undefined
  /** Principal who decided, or `link`. */
  readonly decidedBy: string | undefined
  readonly message: string | undefined
  /** Arguments of the approver; absent when they did not change. */
  readonly editedInput?: unknown
}

export interface CallResult {
  readonly content: Content
  readonly isError: boolean
  readonly at: Time
}

/** A session that a tool call has started. */
export interface Thread {
  readonly kind: 'thread'
  readonly key: string
  readonly sessionId: string
  readonly agentName: string | undefined
  readonly callId: string
  readonly at: Time
  readonly state: 'running' | 'asking' | 'done' | 'failed' | 'terminated'
  readonly messages: readonly ThreadMessage[]
  /** Times in which it worked; the last is open while it runs. */
  readonly periods: readonly Period[]
  readonly eventIds: readonly string[]
}

export interface ThreadMessage {
  readonly direction: 'sent' | 'received'
  readonly at: Time
  readonly content: Content
  readonly isError: boolean
  readonly eventId: string
}

export interface Period {
  readonly from: Time
  readonly to: Time | undefined
}

/** Any other event: a warning, an error, a compaction, a change of files, an unknown type. */
export interface Note {
  readonly kind: 'note'
  readonly key: string
  readonly at: Time
  readonly event: SessionEvent
  /** `restart`: the run continued in another process or after a crash. */
  readonly isRestart: boolean
}

/** A text that the model is writing. */
export interface LiveText {
  readonly eventId: string
  readonly text: string
}

export interface Pause {
  readonly at: Time
  readonly reason: StopReason
  readonly message: string | undefined
}

/** A wait for answers from outside. */
export interface Wait {
  readonly since: Time
  /** Events of the calls that have no answer. */
  readonly eventIds: readonly string[]
  /** Time of the last answer, once all calls have one. */
  readonly answeredAt: Time | undefined
}

/** The turn in progress. */
export interface Run {
  /** Place in `turns`. */
  readonly turn: number
  /** A budget or a freeze has stopped it. */
  readonly pause: Pause | undefined
  readonly since: Time
  /** Time of the last event of the model or a tool; undefined before the first. */
  readonly steppedAt: Time | undefined
  /** The open model request. */
  readonly request:
    | { readonly model: string | undefined; readonly isCompaction: boolean; readonly since: Time }
    | undefined
  readonly retry: Retry | undefined
  /** `requires_action`, until the run continues. */
  readonly wait: Wait | undefined
  /** Time of the request to stop. */
  readonly stopRequestedAt: Time | undefined
}
