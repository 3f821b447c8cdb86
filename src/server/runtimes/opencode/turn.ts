import type { NewEvent } from '../../../contract/events.ts'
import type { SessionMemories } from '../../memories/session-memories.ts'
import type { Json } from '../../platform/json.ts'
import type { Log } from '../../platform/log.ts'
import { pause } from '../../platform/timers.ts'
import { opencodeTools, type ProgramMcp } from '../local/program-mcp.ts'
import { createQueue } from '../queue.ts'
import {
  type Batch,
  type Decision,
  type ProviderRefs,
  type RunContext,
  type RunPrompt,
  type RunSession,
  type RuntimeEndpoint,
  RuntimeFailure,
} from '../runtime.ts'
import type { OpencodeApi } from './api.ts'
import { type PendingPermission, type State, stateOf, storedState } from './state.ts'
import { Transcript } from './transcript.ts'

export interface TurnDeps {
  readonly api: OpencodeApi
  readonly endpoint: RuntimeEndpoint
  readonly memories: Pick<SessionMemories, 'block'>
  readonly log: Log
  /** Provider of all models on a server that we start; undefined for a remote server. */
  readonly provider: string | undefined
  /** MCP servers that this service gives to the server. */
  readonly mcp: ProgramMcp
  /** `pause` of the platform by default. */
  readonly wait?: typeof pause
}

/** Input of a running turn. */
export type Item =
  | { readonly kind: 'data'; readonly data: string }
  | { readonly kind: 'closed'; readonly failure: unknown }
  | { readonly kind: 'decided'; readonly permission: PendingPermission; readonly decision: Decision | undefined }
  | { readonly kind: 'broken'; readonly error: unknown }

/** A prompt in progress. */
export type Turn = Awaited<ReturnType<typeof createTurn>>

/** Restores a turn from the log and the stored ids. */
export async function createTurn(
  { wait = pause, ...deps }: TurnDeps,
  { session, prompt, context }: { session: RunSession; prompt: RunPrompt; context: RunContext },
) {
  const transcript = new Transcript(opencodeTools(deps.mcp.servers))
  for await (const event of context.history()) transcript.restore(event)
  const state = stateOf(session.refs.runtime_state, prompt.id)
  if (state) transcript.begin(state.after)
  return {
    ...deps,
    session,
    prompt,
    context,
    transcript,
    inbox: createQueue<Item>(),
    wait: (ms: number, leave?: AbortSignal) =>
      wait(ms, leave ? AbortSignal.any([leave, context.signal]) : context.signal),
    /** Ids of child sessions. */
    children: new Set<string>(),
    /** Decisions by event id of the call; each applies to all permission requests of that call. */
    decisions: new Map<string, Decision>(),
    progress: {
      ...beginning,
      sessionId: session.refs.provider_session_id,
      state,
      messageId: messageOf(session, state),
    },
  }
}

interface Progress {
  sessionId: string | null
  /** Undefined until the prompt is about to be sent. */
  state: State | undefined
  /** Id of our prompt's message. */
  messageId: string | undefined
  /** The prompt has certainly not been sent. */
  isUnsent: boolean
  /** The prompt was sent and must not be sent again. */
  isSent: boolean
  /** The runtime has confirmed the prompt. */
  wasConfirmed: boolean
  /** The stream has delivered an event. */
  isOpen: boolean
  /** The list must be read, or the prompt be sent. */
  isDue: boolean
  quietMs: number
  /** Consecutive failed calls. */
  failures: number
  /** Consecutive ended streams. */
  drops: number
  /** Consecutive polls with an idle runtime and no answer to the prompt. */
  unfinished: number
  /** Error that opencode reported. */
  error: Json | undefined
}

const beginning: Omit<Progress, 'sessionId' | 'state' | 'messageId'> = {
  isUnsent: false,
  isSent: false,
  wasConfirmed: false,
  isOpen: false,
  isDue: false,
  quietMs: 0,
  failures: 0,
  drops: 0,
  unfinished: 0,
  error: undefined,
}

const messageOf = (session: RunSession, state: State | undefined): string | undefined =>
  (state && session.refs.provider_run_id) ?? undefined

/** Returns the id of the runtime's session. Throws before there is one. */
export function sessionIdOf({ progress }: Turn): string {
  if (progress.sessionId === null) throw new Error('the turn has no session at the runtime (bug)')
  return progress.sessionId
}

/** Returns the provider ids and state to store. */
export const refsOf = ({ progress }: Turn): Partial<ProviderRefs> => ({
  provider_run_id: progress.messageId ?? null,
  ...(progress.state && { runtime_state: storedState(progress.state) }),
})

/** Stores events with the state of the turn; only the state if there are no events. */
export async function* store(turn: Turn, events: readonly NewEvent[]): AsyncGenerator<Batch> {
  const refs = refsOf(turn)
  if (events.length > 0) yield { events, refs }
  else await turn.context.saveRefs(refs)
}

/** Delays between retries, in milliseconds. */
const retryDelaysMs = [250, 1_000, 2_000, 4_000, 8_000, 15_000]

/** Returns the delay after a number of consecutive ended streams. */
export const waitAfterDrops = (drops: number): number => retryDelaysMs[Math.min(drops, retryDelaysMs.length) - 1] ?? 0

/** Waits after a failed call; throws the failure when a retry is useless. */
export async function retryLater(turn: Turn, failure: unknown): Promise<void> {
  const { progress } = turn
  if (!(failure instanceof RuntimeFailure) || progress.state === undefined || isFinal(failure)) throw failure
  const ms = retryDelaysMs[progress.failures++]
  if (ms === undefined) throw failure
  turn.log.debug({ err: failure, session_id: turn.session.id }, 'opencode: a call failed; retrying')
  await turn.wait(failure.retryAfterMs ?? ms)
}

/** True for an error status that does not change on a retry. */
const isFinal = ({ status }: RuntimeFailure): boolean =>
  status !== undefined && status < 500 && status !== 408 && status !== 425 && status !== 429
