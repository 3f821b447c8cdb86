import type { RunContext, RunPrompt, RunSession } from '../runtime.ts'
import type { ManagedAgentsApi } from './api.ts'
import { agentBody, environmentBody, sessionBody } from './bodies.ts'
import { type RunState, storedState } from './run-state.ts'

interface Parts {
  readonly api: Pick<ManagedAgentsApi, 'create'>
  readonly session: RunSession
  readonly prompt: RunPrompt
  readonly context: Pick<RunContext, 'remember' | 'signal'>
  readonly memories: (session: RunSession) => Promise<string>
  readonly state: RunState
}

/** What our session is over there. */
export interface Provisioned {
  readonly sessionId: string
  readonly state: RunState
}

/**
 * Makes agent, environment and session, unless that was done. Each id is stored before the next call, and what is stored is
 * used: a crash in between leaves at most one thing that nobody uses. Dialects: section 1.9, rule 2.
 */
export async function provision({ api, session, prompt, context, memories, state }: Parts): Promise<Provisioned> {
  const { refs } = session
  const { remember, signal } = context
  if (refs.provider_session_id !== null) return { sessionId: refs.provider_session_id, state }

  let agentId = refs.runtime_agent_ref_id
  if (agentId === null) {
    agentId = await api.create('agents', agentBody(session, prompt, await memories(session)), signal)
    await remember({ runtime_agent_ref_id: agentId })
  }
  let environmentId = state.environment_id
  if (environmentId === undefined) {
    environmentId = await api.create('environments', environmentBody(session), signal)
    await remember({ runtime_state: storedState({ ...state, environment_id: environmentId }) })
  }
  const sessionId = await api.create('sessions', sessionBody(session, agentId, environmentId), signal)
  await remember({ provider_session_id: sessionId })
  return { sessionId, state: { ...state, environment_id: environmentId } }
}
