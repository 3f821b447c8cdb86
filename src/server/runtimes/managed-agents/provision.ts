import type { Json } from '../../platform/json.ts'
import { type RunContext, type RunPrompt, type RunSession, RuntimeFailure } from '../runtime.ts'
import type { ManagedAgentsApi } from './api.ts'
import { agentBody, environmentBody, sessionBody } from './bodies.ts'
import { createPatience, type Wait } from './patience.ts'
import { type RunState, storedState } from './run-state.ts'

interface Parts {
  readonly api: Pick<ManagedAgentsApi, 'create'>
  readonly session: RunSession
  readonly prompt: RunPrompt
  readonly context: Pick<RunContext, 'remember' | 'signal' | 'isDraining'>
  readonly memories: (session: RunSession) => Promise<string>
  readonly state: RunState
  readonly wait: Wait
}

/** What our session is over there. */
export interface Provisioned {
  readonly sessionId: string
  readonly state: RunState
}

/**
 * Makes agent, environment and session, unless that was done. Each id is stored before the next call, and what is stored is
 * used: a crash in between leaves at most one thing that nobody uses. Undefined when the session is to be handed over
 * before all of it is made. Dialects: section 1.9, rule 2.
 */
export async function provision(parts: Parts): Promise<Provisioned | undefined> {
  const { session, prompt, memories, state } = parts
  const { refs } = session
  const { remember } = parts.context
  if (refs.provider_session_id !== null) return { sessionId: refs.provider_session_id, state }

  let agentId = refs.runtime_agent_ref_id ?? undefined
  if (agentId === undefined) {
    agentId = await made(parts, 'agents', agentBody(session, prompt, await memories(session)))
    if (agentId === undefined) return undefined
    await remember({ runtime_agent_ref_id: agentId })
  }
  let environmentId = state.environment_id
  if (environmentId === undefined) {
    environmentId = await made(parts, 'environments', environmentBody(session))
    if (environmentId === undefined) return undefined
    await remember({ runtime_state: storedState({ ...state, environment_id: environmentId }) })
  }
  const sessionId = await made(parts, 'sessions', sessionBody(session, agentId, environmentId))
  if (sessionId === undefined) return undefined
  await remember({ provider_session_id: sessionId })
  return { sessionId, state: { ...state, environment_id: environmentId } }
}

/**
 * The id of what was made. It is tried again only where the server says that it has done nothing: a call that is lost, or
 * that fails half-way, may have made the thing.
 */
async function made(
  { api, context, wait }: Parts,
  what: Parameters<ManagedAgentsApi['create']>[0],
  body: Json,
): Promise<string | undefined> {
  const patience = createPatience(context, wait)
  while (!context.isDraining()) {
    try {
      return await api.create(what, body, context.signal)
    } catch (error) {
      if (!hasDoneNothing(error)) throw error
      await patience.afterFailure(error)
    }
  }
  return undefined
}

/** Too many calls, or a server that is overloaded: refused before the call was looked at. */
const hasDoneNothing = (error: unknown): error is RuntimeFailure =>
  error instanceof RuntimeFailure && (error.status === 429 || error.status === 503 || error.status === 529)
