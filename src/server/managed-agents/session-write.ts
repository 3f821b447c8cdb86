import type {
  AgentChoice,
  ManagedRepository,
  ManagedResourceWrite,
  ManagedSessionCreate,
} from '../../contract/managed-sessions.ts'
import type { StoredAgent } from '../agents/stored-agent.ts'
import type { WantedStore } from '../memory-stores/session-stores.ts'
import { invalid } from '../platform/errors.ts'
import { type FoundSkill, modelId, type Setup, type SkillBlocks, withSetup } from './agent-setup.ts'
import type { WantedFile } from './resources/file-resources.ts'

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
  library: { readonly blocks: SkillBlocks; readonly found: readonly FoundSkill[] },
): Readonly<Record<string, unknown>> {
  const { system, tools, config, skills } = withSetup(agent, setup, library)
  const overrides = {
    ...(system !== agent.system && { system }),
    ...(setup.skills !== undefined && { skills }),
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
  const repositories = resources.flatMap(repositoryIn)
  const [resource] = repositories
  if (!resource) return {}
  const another = resources.findLastIndex(({ type }) => type === 'github_repository')
  if (repositories.length > 1) throw invalid(`resources[${another}]: a session supports at most one repository`)
  const ref = refOf(resource.checkout)
  return {
    repository: resource.url,
    ...(ref !== undefined && { ref }),
    ...(resource.mount_path && { mount_path: resource.mount_path }),
  }
}

/** Rejects unsupported resources. A token cannot be stored, because everyone who may see the session could read it. */
function repositoryIn(resource: ManagedResourceWrite, at: number): ManagedRepository[] {
  const place = `resources[${at}]`
  switch (resource.type) {
    case 'file':
    case 'memory_store':
      return []
    case 'github_repository':
      if (!resource.authorization_token) return [resource]
      throw invalid(
        `${place}.authorization_token is not stored here; configure access to the repository at the runtime`,
      )
  }
}

/** Returns the files that a new session names. */
export const filesIn = (resources: ManagedSessionCreate['resources'] = []): WantedFile[] =>
  resources.flatMap((resource, at) => (resource.type === 'file' ? [{ resource, field: `resources[${at}]` }] : []))

const maxStores = 8

/** Returns the memory stores that a new session names. Throws `invalid_request` for too many. */
export function storesIn(resources: ManagedSessionCreate['resources'] = []): WantedStore[] {
  const stores = resources.flatMap((resource, at): WantedStore[] => {
    if (resource.type !== 'memory_store') return []
    const { memory_store_id, access, instructions } = resource
    const field = `resources[${at}].memory_store_id`
    return [{ memory_store_id, access: access ?? 'read_write', instructions: instructions ?? null, field }]
  })
  const another = stores[maxStores]
  if (another) throw invalid(`${another.field}: a session supports at most ${maxStores} memory stores`)
  return stores
}

function refOf(checkout: ManagedRepository['checkout']): string | undefined {
  if (!checkout) return undefined
  return checkout.type === 'branch' ? checkout.name : checkout.sha
}

/** The runtime whose sessions use vaults and memory stores. */
export const ownRuntime = 'builtin'

/** Returns the fields that only the own runtime uses. */
export const onlyBuiltin = ({ vault_ids = [], resources = [] }: ManagedSessionCreate): string[] => [
  ...(vault_ids.length > 0 ? ['vault_ids'] : []),
  ...resources.flatMap(({ type }, at) => (type === 'memory_store' ? [`resources[${at}]`] : [])),
]

type FirstEvent = NonNullable<ManagedSessionCreate['initial_events']>[number]

/** Returns the name of the field with the repository. */
export const repositoryField = ({ resources = [] }: ManagedSessionCreate): string =>
  `resources[${resources.findIndex(({ type }) => type === 'github_repository')}]`

/** Returns the text that a session without a title is named after. */
export function firstText(event: FirstEvent | undefined): string | undefined {
  if (event?.type === 'user.define_outcome') return event.description
  return event?.content.find(part => part.type === 'text')?.text
}
