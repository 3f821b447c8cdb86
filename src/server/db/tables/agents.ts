import type { ColumnType, Generated, GeneratedAlways } from 'kysely'
import type { Agent, AgentStatus } from '../../../contract/agents.ts'
import type { AttachedSkill } from '../../../contract/attached-skill.ts'
import type { MemorySource } from '../../../contract/memories.ts'
import type { DefaultTime, Json, JsonObject } from './columns.ts'

/** Table `agents`: one row per agent, as its current version. */
export interface AgentTable {
  id: string
  owner_id: string
  name: string
  model: string
  system: string
  description: string | null
  harness: string
  tools: Json
  config: Json<Agent['config']>
  /** Skill blocks as written into `system`. */
  skills: ColumnType<readonly AttachedSkill[], string | undefined, string>
  status: Generated<AgentStatus>
  version: Generated<number>
  created_at: DefaultTime
  run_as_key_id: ColumnType<string | null, string | null | undefined, string | null>
}

/** Table `agent_versions`: one row per change of an agent; `snapshot` is the agent in that version. */
export interface AgentVersionTable {
  agent_id: string
  version: number
  snapshot: Json
  note: string | null
  /** Principal; null in rows of older releases. */
  created_by: string | null
  created_at: DefaultTime
}

/** Table `skills`: one row per skill of the library. */
export interface SkillTable {
  id: string
  /** Principal that created it. */
  owner_id: string
  name: string
  description: string | null
  content: string
  created_at: DefaultTime
  updated_at: DefaultTime
}

/** Table `memories`: memories of agents across sessions. */
export interface MemoryTable {
  id: string
  agent_id: string
  text: string
  /** Text in lower case. */
  folded: string
  words: GeneratedAlways<string>
  tags: string[]
  type: string
  priority: number
  disabled: Generated<boolean>
  times_applied: Generated<number>
  last_applied_at: Date | null
  source: MemorySource
  session_id: string | null
  created_by: string
  created_at: DefaultTime
}

/** Table `session_memories`: memories that a session got at its start, in order. */
export interface SessionMemoriesTable {
  session_id: string
  memory_ids: string[]
  created_at: DefaultTime
}

/** Table `environments`: environments of the Managed Agents dialect. */
export interface EnvironmentTable {
  id: string
  owner_id: string
  name: string
  description: string | null
  config: Json<JsonObject>
  metadata: Json<Readonly<Record<string, string>>>
  archived_at: Date | null
  created_at: DefaultTime
  updated_at: DefaultTime
}
