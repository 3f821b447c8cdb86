import type { AttachedSkill } from '../../contract/attached-skill.ts'
import type { ContextPart, ContextTool, SessionContext } from '../../contract/contexts.ts'
import type { NewEvent, NewEventOf, SessionEvent, StopDetails, StopReason } from '../../contract/events.ts'
import type { Outcome } from '../../contract/outcomes.ts'
import type { FilePart } from '../../contract/prompt-files.ts'
import type { PromptKind, PromptPart } from '../../contract/prompts.ts'
import type { SessionRepository } from '../../contract/repositories.ts'
import type { ApiSpec } from '../../contract/runtimes.ts'
import type { Caller } from '../http/caller.ts'
import type { CustomToolEnd } from '../tools/custom-tools.ts'
import type { RunSubagents } from '../tools/subagents.ts'

/** What a runtime supports. The API returns these flags; an error for an unsupported feature names its flag. */
export interface Capabilities {
  readonly streaming: boolean
  readonly interrupt: boolean
  readonly steer: boolean
  readonly approvals: boolean
  readonly files: boolean
  /** Takes prompts with files: in its protocol, or from the workspace. */
  readonly files_in: boolean
  readonly resume: boolean
  readonly cost: boolean
  readonly model_per_prompt: boolean
  /** Reads its conversation from the log: it can be compacted, and its history then starts at the last compaction. */
  readonly compaction: boolean
  /** Can answer with JSON that matches a schema of the caller. */
  readonly typed_results: boolean
  /** Can run with recorded results instead of tools. */
  readonly replay: boolean
  /** Works towards an outcome until a grader is satisfied. */
  readonly outcomes: boolean
}

/** All flags false: spread it and set those that a runtime supports. */
export const noCapabilities: Capabilities = {
  streaming: false,
  interrupt: false,
  steer: false,
  approvals: false,
  files: false,
  files_in: false,
  resume: false,
  cost: false,
  model_per_prompt: false,
  compaction: false,
  typed_results: false,
  replay: false,
  outcomes: false,
}

/** The provider's ids for a session; the first three are fields of the session's record. */
export interface ProviderRefs {
  readonly runtime_agent_ref_id: string | null
  readonly provider_session_id: string | null
  readonly provider_run_id: string | null
  /** What else the runtime needs after a crash, in its own format; a few KB. */
  readonly runtime_state: Readonly<Record<string, unknown>>
  /** The repository in the session's files; null or absent before it is cloned. */
  readonly repository?: SessionRepository | null
}

/** The session that a runtime runs. */
export interface RunSession {
  readonly id: string
  readonly owner_id: string
  readonly agent_id: string
  /** System prompt of the agent's version that the session runs; empty without an agent. */
  readonly system: string
  /** Skills whose blocks are in `system`. */
  readonly skills: readonly AttachedSkill[]
  /** The agent's `tools`, as sent. */
  readonly tools: unknown
  readonly config: Readonly<Record<string, unknown>>
  /** Present if no limited key has set the agent's version up, which then reads global vault entries. Security: L3. */
  readonly reachesGlobalVault?: true
  readonly environment: Readonly<Record<string, unknown>>
  readonly timezone: string | null
  readonly title: string
  /** As of the time when this process acquired the run; see `RunContext.saveRefs`. */
  readonly refs: ProviderRefs
}

export interface RunPrompt {
  readonly id: string
  readonly parts: readonly PromptPart[]
  readonly model: string
  /** `compact` requests a compaction of the conversation; `parts` is then empty. */
  readonly kind: PromptKind
  /** Replaces the agent's system prompt for this prompt alone. */
  readonly system: string | null
  /** Who queued the prompt; its model calls are charged to them. */
  readonly principal: string
  /** The virtual key that they used; null for the master key. */
  readonly key_id: string | null
  /** Id that the client chose for the message; null without one. */
  readonly message_id: string | null
  /** JSON Schema that the answer must match; null uses that of the agent, if it has one. */
  readonly output_schema: Readonly<Record<string, unknown>> | null
  /** The outcome that the run has to reach; null without one. */
  readonly outcome: Outcome | null
}

/** Principal and key whose budgets and limits apply to model calls. */
export type Payer = Pick<Caller, 'principal' | 'key'>

/** A person's decision about a tool call. */
export interface Decision {
  readonly result: 'allow' | 'deny'
  /** Why it was denied, for the model. */
  readonly message: string | undefined
  /** Arguments that replace those of the call; undefined when the person did not change them. */
  readonly input?: unknown
}

/** Builds a runtime's state from a log, event by event. Each session uses one reducer. */
export interface LogReducer<State> {
  readonly begin: () => State
  readonly add: (state: State, event: SessionEvent) => void
  /** Returns an independent copy. */
  readonly copy: (state: State) => State
  /** Returns the approximate size as JSON, in bytes. */
  readonly bytesOf: (state: State) => number
}

export interface Folded<State> {
  readonly state: State
  /** Sequence number of the last event included; 0 for an empty log. */
  readonly last: number
}

/** What the engine provides to a run. */
export interface RunContext {
  /** Model calls are logged with it. */
  readonly runId: string
  /**
   * Aborts on interrupt, deletion, loss of the session's lease and shutdown. The run must then return as soon as
   * possible, without a last event.
   */
  readonly signal: AbortSignal
  /** True once an interrupt or the time limit has stopped the run for good: no other process resumes it. */
  readonly isStopped: () => boolean
  /** True once the process hands its sessions over: the run must return between two steps, without a last event. */
  readonly isDraining: () => boolean
  /** The session's log so far, in order. */
  readonly history: () => AsyncIterable<SessionEvent>
  /**
   * Reduces the log to a state, starting at the last compaction. The state is cached: a later run reads only newer
   * events.
   */
  readonly fold: <State>(reducer: LogReducer<State>) => Promise<Folded<State>>
  /** All prompts of this run, in order: the first one, and those that joined the turn since. */
  readonly prompts: () => Promise<readonly RunPrompt[]>
  /** Returns the content of a file that a prompt of the session carries. */
  readonly fileContent: (file: FilePart) => Promise<Buffer>
  /** Who pays for model calls of a prompt; undefined when the key that queued it was revoked, has expired or may only read. */
  readonly payer: (prompt: RunPrompt) => Promise<Payer | undefined>
  /** Publishes text of an `agent.message` that is still being written. `eventId` is the id that the event will have. */
  readonly preview: (eventId: string, text: string) => void
  /**
   * Stores provider ids under the fence of the run, and resolves once they are durable. Call it before the request that
   * creates the object when we choose the id, otherwise right after it. Rejects when another process owns the session.
   */
  readonly saveRefs: (refs: Partial<ProviderRefs>) => Promise<void>
  /**
   * Waits for a person's decision about the tool call of an `agent.tool_use` event. Ask by yielding that event with
   * `evaluated_permission: 'ask'` and then `requiresAction`. Returns undefined when the run must end or be handed over
   * first; the next owner calls it again and gets a decision made in between.
   */
  readonly decision: (eventId: string) => Promise<Decision | undefined>
  /**
   * Returns how the call of an `agent.custom_tool_use` event ended; undefined while it has not, and then parks the run.
   * Absent where a run cannot park.
   */
  readonly customToolEnd?: (eventId: string) => Promise<CustomToolEnd | undefined>
  /** Calls of agents that the session's agent may call. Absent where there are none, or a run cannot park. */
  readonly subagents?: RunSubagents
  /**
   * Postpones the prompt by `ms`; the run must then return without a last event, as for a handover. The process that
   * resumes it finds in the log why it waited. Absent where a run cannot be resumed.
   */
  readonly postpone?: (ms: number) => Promise<void>
  /**
   * Claims an allowed tool call before it runs: returns true once. False means that an earlier owner had started it.
   * Runtimes that pass the decision to a provider do not call it: there the provider runs the tool.
   */
  readonly claimToolCall: (eventId: string) => Promise<boolean>
}

/** Events and changed provider ids, stored in one transaction. */
export interface BatchWithRefs {
  readonly events: readonly NewEvent[]
  readonly refs: Partial<ProviderRefs>
}

/**
 * Events that belong together. The engine stores a batch in one transaction before it requests the next, so a runtime
 * may rely on everything that it has yielded. The last batch of a run ends with `session.status_idle` or a final
 * `session.error`. With the stop reason `budget_reached` the run is not over: it is resumed once the budget has room.
 * With `requires_action` it continues: await `RunContext.decision`, and yield `session.status_running` when work
 * resumes.
 */
export type Batch = readonly NewEvent[] | BatchWithRefs

/** The parts of a batch. */
export const partsOf = (batch: Batch): BatchParts => ('events' in batch ? batch : { events: batch, refs: undefined })

export interface BatchParts {
  readonly events: readonly NewEvent[]
  /** Undefined when no id has changed. */
  readonly refs: Partial<ProviderRefs> | undefined
}

/** A session or a new one whose next model request is to be described. */
export interface ContextRequest {
  readonly prompt: Pick<RunPrompt, 'model' | 'system' | 'output_schema'>
  /** Text block with the memories of the agent; empty without any. */
  readonly memories: string
  /** Undefined when the key of the prompt was revoked, has expired or may only read. */
  readonly payer: Payer | undefined
  /** As in `RunContext.subagents`; absent where the session may call no agents. */
  readonly agents: RunSubagents['agents'] | undefined
  /** As in `RunContext`; absent for a new session. */
  readonly fold: RunContext['fold'] | undefined
}

/** What the next model request of a session contains. */
export interface RuntimeContext {
  /** In the order of the request. */
  readonly parts: readonly Pick<ContextPart, 'kind' | 'text'>[]
  readonly tools: readonly ContextTool[]
  readonly contextWindow: number | undefined
  /** Null for a new session. */
  readonly conversation: SessionContext['conversation']
  /** What the lists lack, and why. */
  readonly notes: readonly string[]
}

/** Runs agents. A failure is an event, not an exception. */
export interface Runtime {
  readonly id: string
  readonly capabilities: Capabilities
  /** A run may end while it waits for a person: the next run resumes from the log and the provider's state. */
  readonly parks?: true
  /** Clients answer its `agent.custom_tool_use` events to this service. */
  readonly offersCustomTools?: true
  /** Set when its tools work in the session's folder on this machine. */
  readonly workspace?: RuntimeWorkspace
  /**
   * Whose logs it can continue from when a session is forked. Absent when it stores the conversation itself: it then
   * gets the earlier conversation as text.
   */
  readonly reads?: 'own log' | 'any log'
  /**
   * Returns the schema of a tool's arguments in a session, so that a person may edit them; undefined for an unknown tool. A tool of
   * an MCP server is `server__tool`. Absent where the provider or the program runs the tools: it takes an answer only, no arguments.
   */
  readonly inputSchemaOf?: (tool: string, session: RunSession) => Promise<Readonly<Record<string, unknown>> | undefined>
  /**
   * Describes the next model request without a call and without an effect. Absent where the provider or the program builds
   * the requests.
   */
  readonly contextOf?: (session: RunSession, request: ContextRequest) => Promise<RuntimeContext>
  /** Its models are named `provider/model`. */
  readonly namesProviders?: true
  /** Its models are not those of the gateway; it chooses one for a prompt that names none. */
  readonly hasOwnModels?: true
  /** Starts the prompt, or resumes it after a crash, depending on the log. */
  run(session: RunSession, prompt: RunPrompt, context: RunContext): AsyncGenerator<Batch>
  /** Deletes what the runtime stores for a deleted session. Succeeds when there is nothing to delete. */
  dispose(session: DisposedSession): Promise<void>
}

/** Which tools may change the files of a session. */
export interface RuntimeWorkspace {
  /** True for a tool that changes no file. */
  readonly isRead: (tool: string) => boolean
  /** False for a program that may also write while no tool call is running. */
  readonly onlyByCalls: boolean
  /** True for a call that may write until the end of the run. */
  readonly outlivesCall?: (tool: string, input: unknown) => boolean
}

/** For a program that works in the folder of a session by itself. */
export const programWorkspace: RuntimeWorkspace = { isRead: () => false, onlyByCalls: false }

/** A deleted session, with the ids of what the provider may still store. */
export interface DisposedSession {
  readonly id: string
  readonly refs: ProviderRefs
}

/** Settings of an agent and a session that the runtime has to support. */
export interface RequestedSettings {
  /** The agent's `tools`, as sent. */
  readonly tools: unknown
  readonly config: Readonly<Record<string, unknown>>
  /** Of the session; undefined before there is one. */
  readonly environment?: Readonly<Record<string, unknown>>
}

/** A setting that a runtime does not support. */
export interface Finding {
  /** Path of the field, such as `environment.ref` or `tools[1]`. */
  readonly field: string
  /**
   * Why the value is rejected, worded to follow the field name. Undefined when the value is stored but has no effect.
   */
  readonly problem?: string
}

/** The runtimes of this server: built-in ones by id, harnesses by alias. */
export interface RuntimeRegistry {
  /** Finds a runtime by built-in id or alias, with its current credential; undefined for an unknown name. */
  find(name: string): Promise<Runtime | undefined>
  /** Returns why no session can start on it, such as a missing credential; undefined when it is available. */
  unavailableReason(name: string): Promise<string | undefined>
  /** Lists the settings that the runtime does not support; empty for an unknown name. */
  findings(name: string, requested: RequestedSettings): Promise<readonly Finding[]>
  /** All of them, built-in ones first. */
  list(): Promise<readonly RuntimeInfo[]>
}

export interface RuntimeInfo {
  readonly id: string
  readonly name: string
  readonly connected: boolean
  readonly capabilities: Capabilities
}

/** Address and credential of an external runtime, or the program to start. */
export interface RuntimeEndpoint {
  /** Built-in id or alias. */
  readonly id: string
  /** Without a trailing slash; empty for a program that the service starts. */
  readonly apiBase: string
  readonly apiKey: string | undefined
  /** The program to start and its arguments; only from the configuration file. Security: S30. */
  readonly command?: readonly string[]
  /** Environment variables of the program. */
  readonly env?: Readonly<Record<string, string>>
  /** `none` for a program that the operator trusts as much as the server itself. */
  readonly isolation?: 'sandbox' | 'none'
}

/** Implementation of a protocol of external runtimes. */
export interface RuntimeKind {
  readonly spec: ApiSpec
  readonly capabilities: Capabilities
  /** Returns the runtime of an endpoint. Opens no connection before a run. */
  connect(endpoint: RuntimeEndpoint): Runtime
  /** Makes the cheapest call that verifies address and credential. Rejects with `RuntimeFailure`. */
  check(endpoint: RuntimeEndpoint, signal: AbortSignal): Promise<void>
  /** Lists the models that it offers; empty when it cannot list them. Rejects with `RuntimeFailure`. */
  models(endpoint: RuntimeEndpoint, signal: AbortSignal): Promise<readonly RuntimeModel[]>
}

export interface RuntimeModel {
  readonly id: string
  readonly display_name: string
}

/** Error of an external runtime. The message is shown to callers: no credential, no markup, at most 500 characters. */
export class RuntimeFailure extends Error {
  /** One of the Managed Agents error types. */
  readonly type: string
  /** HTTP status of the error response; undefined without a response. */
  readonly status: number | undefined
  /** The provider's error code, such as `agent_busy`. */
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

/** Reports whether the runtime responded with that HTTP status. */
export const isFailureWithStatus = (error: unknown, status: number): error is RuntimeFailure =>
  error instanceof RuntimeFailure && error.status === status

/** Last event of a run that failed for good. `type` is one of the Managed Agents error types. Dialects: section 1.6. */
export const failed = (type: string, message: string): NewEventOf<'session.error'> => ({
  type: 'session.error',
  error: { type, message, retry_status: { type: 'terminal' } },
})

/** Error of a prompt whose key was revoked, has expired or may only read. */
export const unusableKeyFailure = {
  type: 'model_request_failed_error',
  message: 'the key that queued the prompt was revoked, has expired or may only read; send it again with another key',
} as const

/** Last event of such a run. */
export const unusableKeyEvent = failed(unusableKeyFailure.type, unusableKeyFailure.message)

/** Event of a run that is over, or that cannot continue before something changes. */
export const idle = (
  stopReason: StopReason,
  details: StopDetails | null = null,
): NewEventOf<'session.status_idle'> => ({
  type: 'session.status_idle',
  stop_reason: stopReason,
  stop_details: details,
})

/** Requests a decision about tool calls, or their results, by the ids of their events. */
export const requiresAction = (eventIds: readonly string[]): NewEvent => ({
  type: 'session.status_idle',
  stop_reason: { type: 'requires_action', event_ids: eventIds },
  stop_details: null,
})

/** Last event of a run that was stopped on request. */
export const stopped = idle(
  { type: 'end_turn' },
  { type: 'interrupted', message: 'stopped on request; running work was interrupted' },
)
