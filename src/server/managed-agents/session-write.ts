import type {
  AgentChoice,
  ManagedRepository,
  ManagedResourceWrite,
  ManagedSessionCreate,
} from '../../contract/managed-sessions.ts'
import type { Skill } from '../../contract/skills.ts'
import type { StoredAgent } from '../agents/stored-agent.ts'
import { invalid } from '../platform/errors.ts'
import { modelId, type Setup, type SkillBlocks, withSetup } from './agent-setup.ts'

/** The agent that a client selects, and the settings that it overrides. */
export interface WantedAgent {
  readonly id: string
  readonly version: number | undefined
  readonly setup: Setup | undefined
}

/** Normalizes the three ways to name an agent. Source: Dialects, section 1.5. */
export function wantedAgent(choice: AgentChoice): WantedAgent {
  if (typeof choice === 'string') return { id: choice, version: undefined, setup: undefined }
  if (choice.type === 'agent') return { id: choice.id, version: choice.version, setup: undefined }
  const { type: _type, id, version, ...setup } = choice
  return { id, version, setup }
}

/** Returns the fields of the session's environment that override the agent. */
export function overridesOf(
  agent: StoredAgent,
  setup: Setup,
  library: { readonly blocks: SkillBlocks; readonly found: readonly Skill[] },
): Readonly<Record<string, unknown>> {
  const { system, tools, config } = withSetup(agent, setup, library)
  const overrides = {
    ...(system !== agent.system && { system }),
    ...(setup.tools !== undefined && { tools }),
    ...(Object.keys(setup).some(key => key in configKeys) && { config: chosen(config, setup) }),
  }
  return {
    ...(setup.model !== undefined && { model: modelId(setup.model) }),
    ...(Object.keys(overrides).length > 0 && { agent_overrides: overrides }),
  }
}

/** Maps fields of the dialect to keys of `config`. */
const configKeys = { model: 'model_config', mcp_servers: 'mcp_servers', skills: 'skills' } as const

/** Returns the keys that the setup determines; a cleared one is null. */
const chosen = (config: StoredAgent['config'], setup: Setup): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    Object.entries(configKeys)
      .filter(([field]) => setup[field as keyof Setup] !== undefined)
      .map(([, key]) => [key, config[key] ?? null]),
  )

/** Returns the environment fields for a repository. Throws `invalid_request` for unsupported resources. */
export function repositoryOf(resources: ManagedSessionCreate['resources'] = []): Readonly<Record<string, unknown>> {
  const [resource, another] = resources.map(usable)
  if (!resource) return {}
  if (another) throw invalid('resources[1]: a session supports at most one repository')
  const ref = refOf(resource.checkout)
  return {
    repository: resource.url,
    ...(ref !== undefined && { ref }),
    ...(resource.mount_path && { mount_path: resource.mount_path }),
  }
}

/** Rejects unsupported resources. A token cannot be stored, because everyone who may see the session could read it. */
function usable(resource: ManagedResourceWrite, at: number): ManagedRepository {
  const place = `resources[${at}]`
  switch (resource.type) {
    case 'file':
      throw invalid(`${place}.type file is not supported; send the file in a message, which may have its file_id`)
    case 'memory_store':
      throw invalid(
        `${place}.type memory_store is not supported: a session always uses the memories of its agent; ` +
          'manage them at /api/v1/managed_agents/agents/{agent_id}/memory',
      )
    case 'github_repository':
      if (!resource.authorization_token) return resource
      throw invalid(
        `${place}.authorization_token is not stored here; configure access to the repository at the runtime`,
      )
  }
}

function refOf(checkout: ManagedRepository['checkout']): string | undefined {
  if (!checkout) return undefined
  return checkout.type === 'branch' ? checkout.name : checkout.sha
}
