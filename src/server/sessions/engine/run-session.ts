import type { AgentStore } from '../../agents/store.ts'
import type { StoredAgent } from '../../agents/stored-agent.ts'
import { AppError } from '../../platform/errors.ts'
import { failed, noCapabilities, type RunSession, type Runtime } from '../../runtimes/runtime.ts'
import { withOverrides } from '../agent-overrides.ts'
import { type RunRow, refsOf } from '../session-row.ts'

/** Returns the session's own fields, and those of the agent version that it runs. */
const toRunSession = (row: RunRow, { system, skills, tools, config, run_as_key_id }: AgentParts): RunSession => ({
  id: row.id,
  owner_id: row.owner_id,
  agent_id: row.agent_id,
  system,
  skills,
  tools,
  config,
  ...(run_as_key_id === null && { reachesGlobalVault: true }),
  environment: row.environment,
  timezone: row.timezone,
  title: row.title,
  refs: refsOf(row),
})

type AgentParts = Pick<RunSession, 'system' | 'skills' | 'tools' | 'config'> & Pick<StoredAgent, 'run_as_key_id'>

const noAgent: AgentParts = { system: '', skills: [], tools: {}, config: {}, run_as_key_id: null }

/** Reads the agent version of a session, with the overrides of the session, and returns the session as a runtime sees it. */
export async function runSessionOf(row: RunRow, agents: Pick<AgentStore, 'version'>): Promise<RunSession> {
  const { agent_id, agent_version, environment } = row
  const found = agent_version === null ? undefined : await agents.version(agent_id, agent_version)
  return toRunSession(row, withOverrides<AgentParts>(found?.agent ?? noAgent, environment))
}

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
