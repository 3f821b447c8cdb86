import { textIn } from '../../platform/json.ts'
import { type DisposedSession, RuntimeFailure } from '../runtime.ts'
import type { ManagedAgentsApi } from './api.ts'
import type { Wait } from './backoff.ts'

const maxTries = 5
const waitMs = 1_000

/** Deletes the provider's session, archives its agent, and deletes its environment if the server supports that. */
export async function disposeOf(api: ManagedAgentsApi, { refs }: DisposedSession, wait: Wait): Promise<void> {
  const { provider_session_id, runtime_agent_ref_id, runtime_state } = refs
  if (provider_session_id !== null) await removeSession(api, provider_session_id, wait)
  if (runtime_agent_ref_id !== null) await api.archiveAgent(runtime_agent_ref_id)
  const environmentId = textIn(runtime_state['environment_id'])
  if (environmentId === undefined) return
  try {
    await api.remove('environments', environmentId)
  } catch (error) {
    // Harnesses are not required to support the deletion of environments.
    if (!(error instanceof RuntimeFailure)) throw error
  }
}

/** Deletes a session. A running session may reject the deletion, so it is interrupted first. */
async function removeSession(api: ManagedAgentsApi, id: string, wait: Wait): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return await api.remove('sessions', id)
    } catch (error) {
      const isBusy = error instanceof RuntimeFailure && (error.status === 400 || error.status === 409)
      if (!isBusy || tries === maxTries) throw error
    }
    await api.send(id, [{ type: 'user.interrupt' }]).catch(() => undefined)
    await wait(waitMs)
  }
}
