import type { Agent } from '../../contract/agents.ts'
import type { AgentStore } from '../agents/store.ts'
import { anyModel } from '../runtimes/model-choice.ts'
import type { RuntimeRegistry } from '../runtimes/runtime.ts'
import type { SessionRow } from './session-row.ts'

interface Deps {
  readonly runtimes: Pick<RuntimeRegistry, 'find'>
  readonly defaultModel: () => string
}

interface ModelSources {
  readonly environment: Readonly<Record<string, unknown>>
  readonly agent: Pick<Agent, 'model'> | undefined
  readonly runtime: string
}

/** Returns the model of a prompt that names none: the model of the session, else of the agent, else of the runtime. */
export async function modelWithoutName(
  { runtimes, defaultModel }: Deps,
  { environment, agent, runtime }: ModelSources,
): Promise<string> {
  const chosen = environmentModel(environment) ?? agent?.model
  if (chosen !== undefined) return chosen
  return (await runtimes.find(runtime))?.hasOwnModels ? anyModel : defaultModel()
}

/** Like `modelWithoutName`, for an existing session and the agent version that it runs. */
export async function modelOfSession(
  deps: Deps & { readonly agents: Pick<AgentStore, 'version'> },
  { environment, runtime, agent_id, agent_version }: SessionRow,
): Promise<string> {
  const version = agent_version === null ? undefined : await deps.agents.version(agent_id, agent_version)
  return modelWithoutName(deps, { environment, runtime, agent: version?.agent })
}

/** Returns the model in a session's environment; undefined when it names none. */
export const environmentModel = ({ model }: Readonly<Record<string, unknown>>): string | undefined =>
  typeof model === 'string' && model !== '' ? model : undefined
