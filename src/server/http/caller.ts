import type { NativeProvider } from '../../contract/native.ts'
import type { AppError } from '../platform/errors.ts'
import { type TraceHeaders, traceHeadersOf } from '../platform/trace-context.ts'

/** Access of a virtual key, as far as calls need it. */
export interface KeyAccess {
  readonly id: string
  /** User or service account of the key; absent for a key without one. */
  readonly userId?: string
  /** Present for the key behind the console sign-ins of a user. */
  readonly isSignIn?: true
  /** Ancestors of the key, nearest first; absent if there are none. */
  readonly ancestors?: readonly string[]
  /** Model names or `provider/*`; empty allows all. */
  readonly models: readonly string[]
  /** Providers whose native API it may use; absent for none. */
  readonly passthrough?: readonly NativeProvider[]
  /** MCP servers that it may use: ids, names or aliases; absent for all. */
  readonly mcpServers?: readonly string[]
  /** By MCP server: tools that it may call; absent for all. */
  readonly mcpTools?: Readonly<Record<string, readonly string[]>>
  /** Lifetime of its responses in the response cache; absent for that of the model. */
  readonly cacheTtlMs?: number
  /** End of the recording of bodies, in ms since 1970; absent if bodies are not recorded. */
  readonly logBodiesUntilMs?: number
  /** True if the key, an ancestor or its team has a budget or a rate limit, so that each model call needs a reservation. */
  readonly isLimited: boolean
  /**
   * True if the key, an ancestor or, unless its user is an admin, its team has an owner, a list of models, MCP servers or tools, a
   * budget or a rate limit.
   */
  readonly isNarrow: boolean
  /** True if the key has an expiry time. */
  readonly expires: boolean
}

/** Authenticated caller of a request. */
export interface Caller {
  /** Principal that owns what the caller creates: `master`, an owner id, or a key id. */
  readonly principal: string
  /** `viewer` may only read. */
  readonly role: 'admin' | 'user' | 'viewer'
  /** Owner whose objects the caller may access; undefined for all owners. */
  readonly ownerScope: string | undefined
  /** Virtual key; undefined for the master key. */
  readonly key: KeyAccess | undefined
  /** Present for a program of a session, which may only call models and use the memories and MCP servers of its agent. */
  readonly behalf?: Behalf
  /** Trace context that the request was sent in. */
  readonly trace?: TraceHeaders
}

/** An MCP server that a program may use on behalf of a run. */
export interface GrantedServer {
  /** Name in the session. */
  readonly name: string
  /** Undefined for a registered server. */
  readonly url: string | undefined
  /** Tools that it may call; `ask` for those that need the approval of a person. */
  readonly tools: Readonly<Record<string, 'allow' | 'ask'>>
}

/** Run on whose behalf a program of this server calls. */
export interface Behalf {
  /** Run that its calls are booked on. */
  readonly run: {
    readonly session_id: string
    readonly agent_id: string
    readonly owner_id: string
    readonly prompt_id: string
    readonly run_id: string
  }
  /** Names of the memory tools that it may use. */
  readonly memoryTools: readonly string[]
  /** MCP servers that it may use. */
  readonly mcpServers: readonly GrantedServer[]
  /** Returns true for a call of a granted tool that may run; uses up the approval of a tool that needs one. */
  readonly mayCall: (place: { readonly server: string; readonly tool: string }) => boolean
  /** Called with the error of each model call that the gateway rejects. */
  readonly onRejected: (error: AppError) => void
}

/** Caller with the master key, and any caller while authentication is off. */
export const masterCaller: Caller = { principal: 'master', role: 'admin', ownerScope: undefined, key: undefined }

/** Returns the caller with the trace context in headers of a request; the same caller without a valid one. */
export function tracedCaller(caller: Caller, headers: Readonly<Record<string, unknown>>): Caller {
  const trace = traceHeadersOf(headers)
  return trace ? { ...caller, trace } : caller
}

/** Who made a change, for the audit log. */
export interface Actor {
  readonly principal: string
  readonly role: string
  readonly keyId: string | undefined
  /** Client address; undefined for changes of the service itself. */
  readonly address: string | undefined
  readonly requestId: string | undefined
}

/** Who makes a change: the caller for access checks, the actor for the audit log. */
export interface By {
  readonly caller: Caller
  readonly actor: Actor
}

/** Actor of changes that the service makes by itself. */
export const serviceActor: Actor = {
  principal: 'service',
  role: 'service',
  keyId: undefined,
  address: undefined,
  requestId: undefined,
}
