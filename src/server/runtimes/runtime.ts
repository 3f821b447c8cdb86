import type { NewEvent, SessionEvent, TextBlock } from '../../contract/events.ts'
import type { PromptKind } from '../../contract/prompts.ts'
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
  /** Its conversation is what the log tells: it can be compacted, and its history begins where the last compaction cut. */
  readonly compaction: boolean
  /** Its answer can be JSON that fits a schema of the caller. */
  readonly typed_results: boolean
}

/** The flags of a runtime that can do nothing yet: name what it can. */
export const noCapabilities: Capabilities = {
  streaming: false,
  interrupt: false,
  steer: false,
  approvals: false,
  files: false,
  resume: false,
  cost: false,
  model_per_prompt: false,
  compaction: false,
  typed_results: false,
}

/** What a provider calls the things of a session; the first three stand in the session's record. */
export interface ProviderRefs {
  readonly runtime_agent_ref_id: string | null
  readonly provider_session_id: string | null
  readonly provider_run_id: string | null
  /** What else the runtime must find again after a crash, in a shape of its own; a few KB. */
  readonly runtime_state: Readonly<Record<string, unknown>>
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
  readonly title: string
  /** As they were when the run was taken up; see `RunContext.remember`. */
  readonly refs: ProviderRefs
}

export interface RunPrompt {
  readonly id: string
  readonly parts: readonly TextBlock[]
  readonly model: string
  /** `compact`: no message, but the request to compact the conversation; `parts` is empty then. */
  readonly kind: PromptKind
  /** Replaces the agent's system prompt for this prompt alone. */
  readonly system: string | null
  /** Who queued the prompt; model calls are booked on them. */
  readonly principal: string
  /** The virtual key that they used; null for the master key. */
  readonly key_id: string | null
  /** The JSON Schema that the answer has to fit; null: that of the agent, if it has one. */
  readonly output_schema: Readonly<Record<string, unknown>> | null
}

/** Whom model calls are checked against and booked on. */
export type Payer = Pick<Caller, 'principal' | 'key'>

/** What a person said to a tool call that asks. */
export interface Decision {
  readonly result: 'allow' | 'deny'
  /** Why it was denied, for the model. */
  readonly message: string | undefined
}

/** How a runtime reads logs. One session has one reading. */
export interface Reading<State> {
  readonly begin: () => State
  readonly add: (state: State, event: SessionEvent) => void
  /** One that changes by itself. */
  readonly copy: (state: State) => State
  /** About what it takes, as JSON. */
  readonly bytesOf: (state: State) => number
}

export interface Folded<State> {
  readonly state: State
  /** Number of the last event in it; 0 for an empty log. */
  readonly last: number
}

/** What the engine lends to a run. */
export interface RunContext {
  /** Model calls are booked under it. */
  readonly runId: string
  /** Aborts on interrupt, deletion, loss of the session and shutdown; end as soon as you can, without a last event. */
  readonly signal: AbortSignal
  /** True once the run was stopped for good, by an interrupt or its time limit: nobody goes on with it. */
  readonly isStopped: () => boolean
  /** True once the process wants to hand the session over: end between two steps, without a last event. */
  readonly isDraining: () => boolean
  /** The session's log so far, in order. */
  readonly history: () => AsyncIterable<SessionEvent>
  /**
   * What the log so far says to a reading, from what the last compaction has kept on. Between two runs only the events since are read.
   */
  readonly fold: <State>(reading: Reading<State>) => Promise<Folded<State>>
  /** All prompts of this run, in order: the first one, and those that asked to join the turn meanwhile. */
  readonly prompts: () => Promise<readonly RunPrompt[]>
  /** Who pays for model calls of a prompt; undefined when the key that queued it was revoked or has expired. */
  readonly payer: (prompt: RunPrompt) => Promise<Payer | undefined>
  /** Shows text of an `agent.message` that is still being written. `eventId` is that of the event to come. */
  readonly preview: (eventId: string, text: string) => void
  /**
   * Stores what the provider calls things, under the fence of the run, before it resolves. Do so before the call that
   * makes the thing, where the id can be chosen by us; else right behind it. Rejects when the session is not ours any more.
   */
  readonly remember: (refs: Partial<ProviderRefs>) => Promise<void>
  /**
   * Waits for what a person says to a tool call, named by the id of its `agent.tool_use`. Ask by yielding that event with
   * `evaluated_permission: 'ask'` and then `requiresAction`. Undefined when the run has to end, or to be handed over, before;
   * the next owner asks again, and gets what was said meanwhile.
   */
  readonly decision: (eventId: string) => Promise<Decision | undefined>
  /**
   * Puts the prompt aside for so long: end the run without a last event then, as when it is handed over. Whoever goes on with it
   * finds in the log what it waited for. Absent where nobody could.
   */
  readonly putAside?: (ms: number) => Promise<void>
  /**
   * Uses an allowed tool call up, before it runs: true once. False means that an owner before us had begun to run it. Not
   * for runtimes that hand the decision on: whoever runs the tool sees to that.
   */
  readonly spend: (eventId: string) => Promise<boolean>
}

/** Events, and what the provider calls things since: stored in one transaction. */
export interface RememberingBatch {
  readonly events: readonly NewEvent[]
  readonly refs: Partial<ProviderRefs>
}

/**
 * Events that belong together: the engine stores a batch in one transaction before it asks for the next, so a runtime may
 * act on what it has yielded. The last batch of a run ends in `session.status_idle` or a final `session.error`. With
 * the stop reason `budget_reached` the run is not over: it is taken up again once there is room. With `requires_action` it
 * goes on at once: ask for `RunContext.decision`, and say `session.status_running` when work goes on.
 */
export type Batch = readonly NewEvent[] | RememberingBatch

/** The parts of a batch. */
export const partsOf = (batch: Batch): BatchParts => ('events' in batch ? batch : { events: batch, refs: undefined })

export interface BatchParts {
  readonly events: readonly NewEvent[]
  /** Undefined: nothing to remember. */
  readonly refs: Partial<ProviderRefs> | undefined
}

/** Something that runs agents. Failure is an event, not an exception. */
export interface Runtime {
  readonly id: string
  readonly capabilities: Capabilities
  /** A run of it may end where it waits for people: the next one finds in the log and with the provider what it needs. */
  readonly parks?: true
  /** Its tools work in the session's folder on this machine. Absent: elsewhere. */
  readonly workspace?: RuntimeWorkspace
  /** Whose logs it can go on from, when a session is forked. Absent: it keeps the conversation itself, and is told of another one as text. */
  readonly reads?: 'own log' | 'any log'
  /** Its models are named `provider/model`. */
  readonly namesProviders?: true
  /** Its models are not those of the gateway: a prompt that names none leaves the choice to it. */
  readonly hasOwnModels?: true
  /** Begins the prompt, or goes on with it after a crash: the log tells which. */
  run(session: RunSession, prompt: RunPrompt, context: RunContext): AsyncGenerator<Batch>
  /** Frees what the runtime keeps for a session that was deleted. Succeeds when there is nothing. */
  dispose(session: DisposedSession): Promise<void>
}

/** How the files of a session change. */
export interface RuntimeWorkspace {
  /** True for a tool that changes no file. */
  readonly isRead: (tool: string) => boolean
  /** False for a program that may also write while no call of a tool is open. */
  readonly onlyByCalls: boolean
}

/** Of a program that does its own work in the folder of a session. */
export const programWorkspace: RuntimeWorkspace = { isRead: () => false, onlyByCalls: false }

/** A session that was deleted, and what the provider may still keep of it. */
export interface DisposedSession {
  readonly id: string
  readonly refs: ProviderRefs
}

/** What an agent and a session ask of their runtime besides prompts. */
export interface Wishes {
  /** The agent's `tools`, as sent. */
  readonly tools: unknown
  readonly config: Readonly<Record<string, unknown>>
  /** Of the session; undefined: there is none yet. */
  readonly environment?: Readonly<Record<string, unknown>>
}

/** Something that a runtime cannot carry. */
export interface Finding {
  /** `environment.ref`, `tools[1]`. */
  readonly field: string
  /** Why it is refused, as a sentence goes on after the name of the field. Undefined: it is stored, and has no effect. */
  readonly problem?: string
}

/** The runtimes of this server: those that are built in, and harnesses by their alias. */
export interface RuntimeRegistry {
  /** By built-in id or alias, with the credential that is stored now; undefined when there is none of that name. */
  find(name: string): Promise<Runtime | undefined>
  /** Why no session may begin on it: not known, or without a credential. Undefined when one may. */
  refusal(name: string): Promise<string | undefined>
  /** What the runtime of that name cannot carry; nothing for an unknown one. */
  findings(name: string, wishes: Wishes): Promise<readonly Finding[]>
  /** All of them, built-in ones first. */
  list(): Promise<readonly RuntimeInfo[]>
}

export interface RuntimeInfo {
  readonly id: string
  readonly name: string
  readonly connected: boolean
  readonly capabilities: Capabilities
}

/** Where a foreign runtime answers, and what opens it. */
export interface RuntimeEndpoint {
  /** Built-in id or alias. */
  readonly id: string
  /** Without a slash at its end; empty for a program that the service starts. */
  readonly apiBase: string
  readonly apiKey: string | undefined
  /** The program to start and its arguments. Of the configuration file only. Security: S30. */
  readonly command?: readonly string[]
  /** Variables for the program. */
  readonly env?: Readonly<Record<string, string>>
  /** `none` for a program that the operator trusts as much as the server itself. */
  readonly isolation?: 'sandbox' | 'none'
}

/** Names of the protocols that foreign runtimes speak. Gaps: section 10. */
export type ApiSpec = 'claude_managed_agents' | 'opencode' | 'acp' | 'cursor'

/** A protocol of foreign runtimes. */
export interface RuntimeKind {
  readonly spec: ApiSpec
  readonly capabilities: Capabilities
  /** The runtime behind an endpoint. Costs nothing: no connection is made before it runs. */
  connect(endpoint: RuntimeEndpoint): Runtime
  /** Makes the cheapest call that proves address and credential. Rejects with `RuntimeFailure`. */
  check(endpoint: RuntimeEndpoint, signal: AbortSignal): Promise<void>
  /** Models that it offers; empty when it does not say. Rejects with `RuntimeFailure`. */
  models(endpoint: RuntimeEndpoint, signal: AbortSignal): Promise<readonly RuntimeModel[]>
}

export interface RuntimeModel {
  readonly id: string
  readonly display_name: string
}

/** What went wrong at a foreign runtime, in words for the caller: no credential, no markup, at most 500 characters. */
export class RuntimeFailure extends Error {
  /** One of the Managed Agents error types. */
  readonly type: string
  /** HTTP status of the refusal; undefined when none came. */
  readonly status: number | undefined
  /** The provider's own word for it, such as `agent_busy`. */
  readonly code: string | undefined
  readonly retryAfterMs: number | undefined

  constructor(
    type: string,
    message: string,
    details: {
      readonly status?: number | undefined
      readonly code?: string | undefined
      readonly retryAfterMs?: number | undefined
      readonly cause?: unknown
    } = {},
  ) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause })
    this.name = 'RuntimeFailure'
    this.type = type
    this.status = details.status
    this.code = details.code
    this.retryAfterMs = details.retryAfterMs
  }
}

/** True for a refusal with that HTTP status. */
export const isRefusal = (error: unknown, status: number): error is RuntimeFailure =>
  error instanceof RuntimeFailure && error.status === status

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

/** Asks a person about tool calls, named by the ids of their `agent.tool_use` events. */
export const requiresAction = (eventIds: readonly string[]): NewEvent => ({
  type: 'session.status_idle',
  stop_reason: { type: 'requires_action', event_ids: eventIds },
  stop_details: null,
})

/** A run that was stopped on request. */
export const stopped: NewEvent = idle(
  { type: 'end_turn' },
  { type: 'interrupted', message: 'stopped on request; what was running was cut off' },
)
