import type { NewEvent } from '../../../contract/events.ts'
import type { SessionMemories } from '../../memories/session-memories.ts'
import type { Json } from '../../platform/json.ts'
import type { Log } from '../../platform/log.ts'
import { pause } from '../../platform/timers.ts'
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
import { type Ask, type State, stateOf, storedState } from './state.ts'
import { Transcript } from './transcript.ts'

export interface TurnDeps {
  readonly api: OpencodeApi
  readonly endpoint: RuntimeEndpoint
  readonly memories: Pick<SessionMemories, 'block'>
  readonly log: Log
  /** Under which a server of ours knows all models; undefined for a server of somebody else. */
  readonly provider: string | undefined
  /** `pause` of the platform unless given. */
  readonly wait?: typeof pause
}

/** What comes in while a turn goes on. */
export type Item =
  | { readonly kind: 'data'; readonly data: string }
  | { readonly kind: 'closed'; readonly failure: unknown }
  | { readonly kind: 'decided'; readonly ask: Ask; readonly decision: Decision | undefined }
  | { readonly kind: 'broken'; readonly error: unknown }

/** One prompt while opencode works on it. */
export type Turn = Awaited<ReturnType<typeof createTurn>>

/** Starts from what the log and the stored names tell. */
export async function createTurn(
  { wait = pause, ...deps }: TurnDeps,
  { session, prompt, context }: { session: RunSession; prompt: RunPrompt; context: RunContext },
) {
  const transcript = new Transcript()
  for await (const event of context.history()) transcript.recall(event)
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
    /** Sessions that work for this one. */
    children: new Set<string>(),
    /** What was said to a call holds for all that opencode asks about it. */
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
  /** The message that our prompt became. */
  messageId: string | undefined
  /** Nobody has sent what is to be sent, for certain. */
  isUnsent: boolean
  /** The prompt is on its way; never send it again. */
  isSent: boolean
  /** The runtime has answered that it took the prompt. */
  wasTaken: boolean
  /** The stream delivers. */
  isOpen: boolean
  /** The list has to be read, or the prompt to be sent. */
  isDue: boolean
  quietMs: number
  /** Calls that failed in a row. */
  failures: number
  /** Streams that ended in a row. */
  drops: number
  /** How often in a row the runtime was idle without an answer to the prompt. */
  unfinished: number
  /** What opencode said went wrong. */
  error: Json | undefined
}

const beginning: Omit<Progress, 'sessionId' | 'state' | 'messageId'> = {
  isUnsent: false,
  isSent: false,
  wasTaken: false,
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

/** The id of the session at the runtime, once there is one. */
export function sessionIdOf({ progress }: Turn): string {
  if (progress.sessionId === null) throw new Error('the turn has no session at the runtime yet')
  return progress.sessionId
}

/** What is stored of the turn now. */
export const refsOf = ({ progress }: Turn): Partial<ProviderRefs> => ({
  provider_run_id: progress.messageId ?? null,
  ...(progress.state && { runtime_state: storedState(progress.state) }),
})

/** Stores events and what the turn knows, or that alone: a batch without events is none. */
export async function* store(turn: Turn, events: readonly NewEvent[]): AsyncGenerator<Batch> {
  const refs = refsOf(turn)
  if (events.length > 0) yield { events, refs }
  else await turn.context.remember(refs)
}

/** Waits before calls are repeated, in milliseconds. */
const setbackMs = [250, 1_000, 2_000, 4_000, 8_000, 15_000]

/** The wait after so many ends of a stream in a row. */
export const waitAfterDrops = (drops: number): number => setbackMs[Math.min(drops, setbackMs.length) - 1] ?? 0

/** Waits after a failed call; throws when there is no use in going on. */
export async function setBack(turn: Turn, failure: unknown): Promise<void> {
  const { progress } = turn
  if (!(failure instanceof RuntimeFailure) || progress.state === undefined || isFinal(failure)) throw failure
  const ms = setbackMs[progress.failures++]
  if (ms === undefined) throw failure
  turn.log.debug({ err: failure, session_id: turn.session.id }, 'opencode: a call failed; trying again')
  await turn.wait(failure.retryAfterMs ?? ms)
}

/** A refusal that stays one. */
const isFinal = ({ status }: RuntimeFailure): boolean =>
  status !== undefined && status < 500 && status !== 408 && status !== 425 && status !== 429
