import type { Json } from '../../platform/json.ts'
import { type RunContext, type RunPrompt, type RunSession, RuntimeFailure } from '../runtime.ts'
import type { ManagedAgentsApi } from './api.ts'
import { createBackoff, type Wait } from './backoff.ts'
import { agentBody, environmentBody, sessionBody } from './bodies.ts'
import { type RunState, storedState } from './run-state.ts'

interface Parts {
  readonly api: Pick<ManagedAgentsApi, 'create'>
  readonly session: RunSession
  readonly prompt: RunPrompt
  readonly context: Pick<RunContext, 'saveRefs' | 'signal' | 'isDraining'>
  readonly memories: (session: RunSession) => Promise<string>
  readonly state: RunState
  readonly wait: Wait
}

/** The provider's session of ours. */
export interface Provisioned {
  readonly sessionId: string
  readonly state: RunState
}

/**
 * Creates agent, environment and session, unless they exist. Each id is stored before the next call, so a crash leaves
 * at most one unused object. Returns undefined when the session must be handed over first. Dialects: section 1.9, rule
 * 2.
 */
export async function provision(parts: Parts): Promise<Provisioned | undefined> {
  const { session, prompt, memories, state } = parts
  const { refs } = session
  const { saveRefs } = parts.context
  if (refs.provider_session_id !== null) return { sessionId: refs.provider_session_id, state }

  let agentId = refs.runtime_agent_ref_id ?? undefined
  if (agentId === undefined) {
    agentId = await create(parts, 'agents', agentBody(session, prompt, await memories(session)))
    if (agentId === undefined) return undefined
    await saveRefs({ runtime_agent_ref_id: agentId })
  }
  let environmentId = state.environment_id
  if (environmentId === undefined) {
    environmentId = await create(parts, 'environments', environmentBody(session))
    if (environmentId === undefined) return undefined
    await saveRefs({ runtime_state: storedState({ ...state, environment_id: environmentId }) })
  }
  const sessionId = await create(parts, 'sessions', sessionBody(session, agentId, environmentId))
  if (sessionId === undefined) return undefined
  await saveRefs({ provider_session_id: sessionId })
  return { sessionId, state: { ...state, environment_id: environmentId } }
}

/**
 * Creates an object and returns its id. Retries only if the server rejected the call without processing it: a lost or
 * failed call may have created the object.
 */
async function create(
  { api, context, wait }: Parts,
  what: Parameters<ManagedAgentsApi['create']>[0],
  body: Json,
): Promise<string | undefined> {
  const backoff = createBackoff(context, wait)
  while (!context.isDraining()) {
    try {
      return await api.create(what, body, context.signal)
    } catch (error) {
      if (!isRejectedEarly(error)) throw error
      await backoff.afterFailure(error)
    }
  }
  return undefined
}

/** True for rate limits and overload, which reject a call before it is processed. */
const isRejectedEarly = (error: unknown): error is RuntimeFailure =>
  error instanceof RuntimeFailure && (error.status === 429 || error.status === 503 || error.status === 529)
