import type { NativeProvider } from '../../contract/native.ts'
import type { AppError } from '../platform/errors.ts'

/** What a virtual key lets its holder do, as far as each call needs to know. */
export interface KeyAccess {
  readonly id: string
  /** The keys that it descends from, the nearest first; absent: none. */
  readonly ancestors?: readonly string[]
  /** Names of models or `provider/*`; empty allows all. */
  readonly models: readonly string[]
  /** Providers whose own API it may use beside the calls of models; absent: none. */
  readonly passthrough?: readonly NativeProvider[]
  /** How long the response cache keeps answers of its calls; absent: as the model says. */
  readonly cacheTtlMs?: number
  /** Until when bodies of its calls are recorded, in ms since 1970; absent: they are not. */
  readonly logBodiesUntilMs?: number
  /** True: the key or one of its ancestors has a budget or a rate limit, so each of its model calls reserves first. */
  readonly isLimited: boolean
  /** True: the key, or one of its ancestors, has an owner, a list of models, a budget or a rate limit. */
  readonly isNarrow: boolean
  /** True: it is valid until a certain time only. */
  readonly expires: boolean
}

/** Who calls: the result of authentication, seen by every handler. */
export interface Caller {
  /** Owner of what the caller creates: `master`, an owner's name, or a key's id. */
  readonly principal: string
  readonly role: 'admin' | 'user'
  /** The only owner whose objects the caller may see; undefined sees all. */
  readonly ownerScope: string | undefined
  /** The virtual key; undefined for the master key. */
  readonly key: KeyAccess | undefined
  /** Present for a program of a session, which may call models, use the memories of its agent, and nothing else. */
  readonly behalf?: Behalf
}

/** The run on whose behalf a program of ours calls. */
export interface Behalf {
  /** What the calls are booked on. */
  readonly run: {
    readonly session_id: string
    readonly agent_id: string
    readonly owner_id: string
    readonly prompt_id: string
    readonly run_id: string
  }
  /** Names of the tools for the agent's memories that it may use. */
  readonly memoryTools: readonly string[]
  /** Hears of model calls that we refuse. */
  readonly refused: (error: AppError) => void
}

/** The caller that holds the master key, or any caller while authentication is off. */
export const masterCaller: Caller = { principal: 'master', role: 'admin', ownerScope: undefined, key: undefined }

/** Who is behind a change, for the audit log. */
export interface Actor {
  readonly principal: string
  readonly role: string
  readonly keyId: string | undefined
  /** Of the connection; undefined for what the service does by itself. */
  readonly address: string | undefined
  readonly requestId: string | undefined
}

/** Who changes something: what they may do, and what the audit log says of them. */
export interface By {
  readonly caller: Caller
  readonly actor: Actor
}

/** The service itself, at work on its own. */
export const serviceActor: Actor = {
  principal: 'service',
  role: 'service',
  keyId: undefined,
  address: undefined,
  requestId: undefined,
}
