import type { Agent, AgentWrite } from '../../contract/agents.ts'
import type { AttachedSkill } from '../../contract/attached-skill.ts'

/** An agent with a field that callers do not see: the skill blocks as written into its prompt. */
export interface StoredAgent extends Agent {
  readonly skills: readonly AttachedSkill[]
}

/** Fields of an agent that the server sets, not the caller. */
export type ServerField = Exclude<keyof Agent, keyof AgentWrite>

/** Fields of an agent that a write sets. */
export type AgentFields = Omit<StoredAgent, ServerField | 'owner_id'> & { readonly owner_id: string }
