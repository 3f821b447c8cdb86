import { AppError } from '../../platform/errors.ts'
import { failed, noCapabilities, type RunSession, type Runtime } from '../../runtimes/runtime.ts'
import { type RunRow, refsOf } from '../session-row.ts'

/** Returns the session as a runtime sees it: its own fields, and those of the agent version that it runs. */
export const toRunSession = (
  row: RunRow,
  agent: Pick<RunSession, 'system' | 'tools' | 'config'> | undefined,
): RunSession => ({
  id: row.id,
  owner_id: row.owner_id,
  agent_id: row.agent_id,
  system: agent?.system ?? '',
  tools: agent?.tools ?? {},
  config: agent?.config ?? {},
  environment: row.environment,
  timezone: row.timezone,
  title: row.title,
  refs: refsOf(row),
})

/** Replaces a runtime that was removed after the session was created: every run fails and names the missing runtime. */
export function missingRuntime(id: string): Runtime {
  return {
    id,
    capabilities: noCapabilities,
    async *run() {
      yield [failed('model_request_failed_error', `runtime ${id} is not available on this server`)]
    },
    dispose: async () => {
      throw new AppError('internal', `runtime ${id} is not available`)
    },
  }
}
