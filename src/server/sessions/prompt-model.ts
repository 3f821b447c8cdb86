import type { Agent } from '../../contract/agents.ts'
import type { AgentStore } from '../agents/store.ts'
import { anyModel } from '../runtimes/model-choice.ts'
import type { RuntimeRegistry } from '../runtimes/runtime.ts'
import type { SessionRow } from './session-row.ts'

interface Deps {
  readonly runtimes: Pick<RuntimeRegistry, 'find'>
  readonly defaultModel: () => string
}

interface Asked {
  readonly environment: Readonly<Record<string, unknown>>
  readonly agent: Pick<Agent, 'model'> | undefined
  readonly runtime: string
}

/** The model of a prompt that names none: the session's own, the agent's, else what its runtime has by default. */
export async function modelWithoutName(
  { runtimes, defaultModel }: Deps,
  { environment, agent, runtime }: Asked,
): Promise<string> {
  const chosen = environmentModel(environment) ?? agent?.model
  if (chosen !== undefined) return chosen
  return (await runtimes.find(runtime))?.hasOwnModels ? anyModel : defaultModel()
}

/** The same for a session that is there: its agent is that of the version that it runs. */
export async function modelOfSession(
  deps: Deps & { readonly agents: Pick<AgentStore, 'version'> },
  { environment, runtime, agent_id, agent_version }: SessionRow,
): Promise<string> {
  const version = agent_version === null ? undefined : await deps.agents.version(agent_id, agent_version)
  return modelWithoutName(deps, { environment, runtime, agent: version?.agent })
}

/** The model that a session's environment names, if it does. */
export const environmentModel = ({ model }: Readonly<Record<string, unknown>>): string | undefined =>
  typeof model === 'string' && model !== '' ? model : undefined
