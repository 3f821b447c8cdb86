import type { ManagedAgent } from '../../contract/managed-agents.ts'
import type { StoredAgent } from '../agents/stored-agent.ts'
import { metadataIn } from '../platform/metadata.ts'
import type { SkillBlocks } from './agent-setup.ts'
import { shownTools } from './tool-entries.ts'

/** When an agent, or a version of it, was last changed; `archived_at` is null unless it is archived. */
export interface AgentTimes {
  readonly updated_at: Date
  readonly archived_at: Date | null
}

/** The part of an agent that threads include. */
export type ThreadAgent = Omit<ManagedAgent, 'metadata' | 'multiagent' | 'created_at' | 'updated_at' | 'archived_at'>
/** The part of an agent that sessions include. */
export type Snapshot = ThreadAgent & Pick<ManagedAgent, 'multiagent'>

interface Around extends AgentTimes {
  readonly blocks: SkillBlocks
  readonly multiagent: ManagedAgent['multiagent']
}

/** Returns an agent as an object of the dialect. Source: Dialects, section 1.3. */
export const toManagedAgent = (agent: StoredAgent, { blocks, multiagent, ...times }: Around): ManagedAgent => ({
  ...toThreadAgent(agent, blocks),
  multiagent,
  metadata: metadataIn(agent.config['metadata']),
  created_at: new Date(agent.created_at).toISOString(),
  updated_at: times.updated_at.toISOString(),
  archived_at: times.archived_at?.toISOString() ?? null,
})

/**
 * Returns the part of an agent that threads include. Skill blocks are separated from the prompt that contains them.
 */
export function toThreadAgent(agent: StoredAgent, blocks: SkillBlocks): ThreadAgent {
  const { system } = blocks.detachAll(agent)
  return {
    id: agent.id,
    type: 'agent',
    version: agent.version,
    name: agent.name,
    description: agent.description,
    model: { ...fieldsIn(agent.config['model_config']), id: agent.model },
    system: system === '' ? null : system,
    tools: shownTools(agent.tools),
    mcp_servers: listIn(agent.config['mcp_servers']),
    skills: [
      ...blocks.attachedIds(agent).map(skill_id => ({ type: 'custom', skill_id, version: versionOf(agent, skill_id) })),
      ...listIn(agent.config['skills']),
    ],
    execution_identity: { type: 'service_account' },
  }
}

const versionOf = ({ skills }: StoredAgent, id: string): string =>
  skills.find(skill => skill.id === id)?.version ?? 'latest'

type Fields = Record<string, unknown>

const fieldsIn = (value: unknown): Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {}

/** Returns the objects of a list; stored settings may hold any value. */
const listIn = (value: unknown): Fields[] =>
  Array.isArray(value) ? value.filter(item => typeof item === 'object' && item !== null) : []
