import { AppError } from '../../platform/errors.ts'
import { failed, noCapabilities, type RunSession, type Runtime } from '../../runtimes/runtime.ts'
import { type RunRow, refsOf } from '../session-row.ts'

/** What a runtime knows of a session: its own facts, and what it is of the agent whose version it runs. */
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

/** Stands in for a runtime that was removed after the session was made: its runs fail by name. */
export function missingRuntime(id: string): Runtime {
  return {
    id,
    capabilities: noCapabilities,
    async *run() {
      yield [failed('model_request_failed_error', `the runtime ${id} is not available on this server`)]
    },
    dispose: async () => {
      throw new AppError('internal', `the runtime ${id} is not available`)
    },
  }
}
