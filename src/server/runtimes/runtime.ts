import type { NewEvent, SessionEvent, TextBlock } from '../../contract/events.ts'
import type { Caller } from '../http/caller.ts'

/** What a runtime can do. The API shows these flags, and refuses by the flag's name what one cannot. */
export interface Capabilities {
  readonly streaming: boolean
  readonly interrupt: boolean
  readonly steer: boolean
  readonly approvals: boolean
  readonly files: boolean
  readonly resume: boolean
  readonly cost: boolean
  readonly model_per_prompt: boolean
}

/** What a runtime may know of the session that it runs. */
export interface RunSession {
  readonly id: string
  readonly owner_id: string
  readonly agent_id: string
  /** System prompt of the agent's version that the session runs; empty without an agent. */
  readonly system: string
  /** The agent's `tools`, as sent. */
  readonly tools: unknown
  readonly config: Readonly<Record<string, unknown>>
  readonly environment: Readonly<Record<string, unknown>>
  readonly timezone: string | null
}

export interface RunPrompt {
  readonly id: string
  readonly parts: readonly TextBlock[]
  readonly model: string
  /** Replaces the agent's system prompt for this prompt alone. */
  readonly system: string | null
  /** Who queued the prompt; model calls are booked on them. */
  readonly principal: string
  /** The virtual key that they used; null for the master key. */
  readonly key_id: string | null
}

/** Whom model calls are checked against and booked on. */
export type Payer = Pick<Caller, 'principal' | 'key'>

/** What the engine lends to a run. */
export interface RunContext {
  /** Model calls are booked under it. */
  readonly runId: string
  /** Aborts on interrupt, deletion, loss of the session and shutdown; end as soon as you can, without a last event. */
  readonly signal: AbortSignal
  /** True once the process wants to hand the session over: end between two steps, without a last event. */
  readonly isDraining: () => boolean
  /** The session's log so far, in order. */
  readonly history: () => AsyncIterable<SessionEvent>
  /** All prompts of this run, in order: the first one, and those that asked to join the turn meanwhile. */
  readonly prompts: () => Promise<readonly RunPrompt[]>
  /** Who pays for model calls of a prompt; undefined when the key that queued it was revoked or has expired. */
  readonly payer: (prompt: RunPrompt) => Promise<Payer | undefined>
  /** Shows text of an `agent.message` that is still being written. `eventId` is that of the event to come. */
  readonly preview: (eventId: string, text: string) => void
}

/**
 * Events that belong together: the engine stores a batch in one transaction before it asks for the next, so a runtime may
 * act on what it has yielded. The last batch of a run ends in `session.status_idle` or a final `session.error`. With
 * the stop reason `budget_reached` the run is not over: it is taken up again once there is room.
 */
export type Batch = readonly NewEvent[]

/** Something that runs agents. Failure is an event, not an exception. */
export interface Runtime {
  readonly id: string
  readonly capabilities: Capabilities
  /** Begins the prompt, or goes on with it after a crash: the log tells which. */
  run(session: RunSession, prompt: RunPrompt, context: RunContext): AsyncGenerator<Batch>
  /** Frees what the runtime keeps for a session that was deleted. Succeeds when there is nothing. */
  dispose(sessionId: string): Promise<void>
}

/** A run that failed for good. `type` is one of the Managed Agents error types. Dialects: section 1.6. */
export const failed = (type: string, message: string): NewEvent => ({
  type: 'session.error',
  error: { type, message, retry_status: { type: 'terminal' } },
})

/** A run that is over, or that cannot go on before something changes. */
export const idle = (stopReason: { readonly type: string }, details: object | null = null): NewEvent => ({
  type: 'session.status_idle',
  stop_reason: stopReason,
  stop_details: details,
})

/** A run that was stopped on request. */
export const stopped: NewEvent = idle(
  { type: 'end_turn' },
  { type: 'interrupted', message: 'stopped on request; what was running was cut off' },
)
