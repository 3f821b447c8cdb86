import { type Kysely, type Selectable, sql, type Transaction } from 'kysely'
import type { PoolClient } from 'pg'
import type { Agent, AgentStatus, AgentVersion } from '../../contract/agents.ts'
import type { AttachedSkill } from '../../contract/attached-skill.ts'
import { kyselyOn } from '../db/connect.ts'
import { type OnceKey, once, type RunSql, sqlOf } from '../db/once.ts'
import type { AgentTable, Database } from '../db/types.ts'

const columns = [
  'id',
  'owner_id',
  'name',
  'model',
  'system',
  'description',
  'harness',
  'tools',
  'config',
  'skills',
  'status',
  'version',
  'created_at',
  'run_as_key_id',
] as const

/** An agent with what callers do not see: the blocks of skills as they were written into its prompt. */
export interface StoredAgent extends Agent {
  readonly skills: readonly AttachedSkill[]
}

/** A version whose agent is as the store keeps it. */
export interface StoredVersion extends AgentVersion {
  readonly agent: StoredAgent
}

const toAgent = (row: Pick<Selectable<AgentTable>, (typeof columns)[number]>): StoredAgent => ({
  id: row.id,
  name: row.name,
  model: row.model,
  system: row.system,
  tools: row.tools,
  config: row.config as Agent['config'],
  owner_id: row.owner_id,
  status: row.status as AgentStatus,
  description: row.description,
  harness: row.harness,
  created_at: row.created_at.getTime(),
  version: row.version,
  run_as_key_id: row.run_as_key_id,
  skills: row.skills,
})

/** What an agent is made of, besides what the store gives it. */
export type AgentFields = Omit<
  StoredAgent,
  'id' | 'created_at' | 'version' | 'status' | 'owner_id' | 'run_as_key_id'
> & {
  readonly owner_id: string
}

export interface PageOf {
  /** The last id (or version) of the page before. */
  readonly after: string | undefined
  readonly limit: number
}

/** Which agents a list has, all by default. */
export interface AgentFilter {
  readonly without?: AgentStatus | undefined
  /** Made at this time or later. */
  readonly from?: Date | undefined
  /** Made before this time. */
  readonly before?: Date | undefined
}

/** Which agent, of which owner; owner undefined: anybody's. */
interface Which {
  readonly id: string
  readonly owner: string | undefined
}

/** Called in the transaction of a change, with the agent before and after it; when it throws, nothing has changed. */
export type OnChange = (sql: RunSql, before: StoredAgent | undefined, after: StoredAgent | undefined) => Promise<void>

/** Tables `agents` and `agent_versions`: each change is a version, and versions outlive their agent. */
export type AgentStore = ReturnType<typeof agentStore>

function agentReads(db: Kysely<Database>) {
  return {
    /** The agent; undefined when `owner` has none with that id. Owner undefined: anybody's. */
    async find(id: string, owner: string | undefined): Promise<StoredAgent | undefined> {
      let mine = db.selectFrom('agents').where('id', '=', id)
      if (owner !== undefined) mine = mine.where('owner_id', '=', owner)
      const row = await mine.select(columns).executeTakeFirst()
      return row && toAgent(row)
    },

    /** One version, also of an agent that was deleted. */
    async version(id: string, version: number): Promise<StoredVersion | undefined> {
      const all = db.selectFrom('agent_versions').where('agent_id', '=', id)
      const row = await all.where('version', '=', version).selectAll().executeTakeFirst()
      return row && toVersion(row)
    },
  }
}

/** Versions that a process keeps: they never change, and each turn of a session asks for one. */
const mostVersions = 200

/** `read`, which finds versions, asked once for each of those that are asked for often. */
function remembering(read: (id: string, version: number) => Promise<StoredVersion | undefined>): typeof read {
  const known = new Map<string, StoredVersion>()
  return async (id, version) => {
    const name = `${version} ${id}`
    const found = known.get(name) ?? (await read(id, version))
    if (!found) return undefined
    known.delete(name)
    known.set(name, found)
    const [oldest = ''] = known.keys()
    if (known.size > mostVersions) known.delete(oldest)
    return found
  }
}

export function agentStore(db: Kysely<Database>) {
  const reads = agentReads(db)
  const version = remembering(reads.version)
  return {
    ...reads,
    version,

    /** The same reads in a transaction that the caller has open: one that took a second connection could wait for itself. */
    within: (client: PoolClient) => agentReads(kyselyOn(client)),

    /** Newest first. */
    async list(
      owner: string | undefined,
      { after, limit, without, from, before }: PageOf & AgentFilter,
    ): Promise<StoredAgent[]> {
      let mine = db.selectFrom('agents').select(columns)
      if (owner !== undefined) mine = mine.where('owner_id', '=', owner)
      if (after !== undefined) mine = mine.where('id', '<', after)
      if (without !== undefined) mine = mine.where('status', '<>', without)
      if (from !== undefined) mine = mine.where('created_at', '>=', from)
      if (before !== undefined) mine = mine.where('created_at', '<', before)
      return (await mine.orderBy('id', 'desc').limit(limit).execute()).map(toAgent)
    },

    /** Stores a new agent with its first version, once per idempotency key. */
    async insert(
      values: AgentFields & Pick<StoredAgent, 'id' | 'run_as_key_id'>,
      key: OnceKey | undefined,
      onChange: OnChange,
    ): Promise<StoredAgent> {
      return db.transaction().execute(trx =>
        once(sqlOf(trx), key, async () => {
          const added = trx
            .insertInto('agents')
            .values({ id: values.id, run_as_key_id: values.run_as_key_id, ...asRow(values) })
          const agent = await addVersion(trx, toAgent(await added.returning(columns).executeTakeFirstOrThrow()))
          await onChange(sqlOf(trx), undefined, agent)
          return agent
        }),
      )
    },

    /**
     * Replaces the fields of an agent and adds a version, unless `change` answers undefined: then nothing is written.
     * Undefined when there is no such agent. Concurrent updates queue up.
     */
    async update(
      { id, owner }: Which,
      change: (agent: StoredAgent) => AgentChange | undefined,
      onChange: OnChange,
    ): Promise<StoredAgent | undefined> {
      return db.transaction().execute(async trx => {
        let mine = trx.selectFrom('agents').where('id', '=', id)
        if (owner !== undefined) mine = mine.where('owner_id', '=', owner)
        const found = await mine.select(columns).forUpdate().executeTakeFirst()
        if (!found) return undefined
        const before = toAgent(found)
        const changed = change(before)
        if (!changed) return before
        const { status, run_as_key_id, ...fields } = changed
        const row = await trx
          .updateTable('agents')
          .set({ ...asRow(fields), status, run_as_key_id, version: found.version + 1 })
          .where('id', '=', id)
          .returning(columns)
          .executeTakeFirstOrThrow()
        const agent = await addVersion(trx, toAgent(row))
        await onChange(sqlOf(trx), before, agent)
        return agent
      })
    },

    /** True when there was such an agent. */
    async remove({ id, owner }: Which, onChange: OnChange): Promise<boolean> {
      return db.transaction().execute(async trx => {
        let mine = trx.deleteFrom('agents').where('id', '=', id)
        if (owner !== undefined) mine = mine.where('owner_id', '=', owner)
        const removed = await mine.returning(columns).executeTakeFirst()
        if (removed) await onChange(sqlOf(trx), toAgent(removed), undefined)
        return removed !== undefined
      })
    },

    /** The settings of one version; undefined when there is no such version. */
    async versionConfig(id: string, number: number): Promise<Agent['config'] | undefined> {
      return (await version(id, number))?.agent.config
    },

    /** Agents whose prompt holds a text, newest first. */
    async withText(text: string, owner: string | undefined, { after, limit }: PageOf): Promise<StoredAgent[]> {
      let mine = db.selectFrom('agents').where(sql<boolean>`strpos(system, ${text}) > 0`)
      if (owner !== undefined) mine = mine.where('owner_id', '=', owner)
      if (after !== undefined) mine = mine.where('id', '<', after)
      return (await mine.select(columns).orderBy('id', 'desc').limit(limit).execute()).map(toAgent)
    },

    /** Newest first. */
    async versions(id: string, { after, limit }: PageOf): Promise<StoredVersion[]> {
      let all = db.selectFrom('agent_versions').where('agent_id', '=', id).selectAll()
      if (after !== undefined) all = all.where('version', '<', Number(after))
      return (await all.orderBy('version', 'desc').limit(limit).execute()).map(toVersion)
    },
  }
}

export type AgentChange = AgentFields & Pick<StoredAgent, 'status' | 'run_as_key_id'>

/** Snapshots of older releases have neither skills nor a key. */
const toVersion = (row: { version: number; created_at: Date; snapshot: unknown }): StoredVersion => ({
  version: row.version,
  created_at: row.created_at.getTime(),
  agent: complete(row.snapshot as Snapshot),
})

type Snapshot = Omit<Agent, 'run_as_key_id'> & Partial<StoredAgent>

const complete = ({ skills = [], run_as_key_id = null, ...agent }: Snapshot): StoredAgent => ({
  ...agent,
  run_as_key_id,
  skills,
})

const asRow = ({ tools, config, skills, ...fields }: AgentFields) => ({
  name: fields.name,
  owner_id: fields.owner_id,
  model: fields.model,
  system: fields.system,
  description: fields.description,
  harness: fields.harness,
  tools: JSON.stringify(tools),
  config: JSON.stringify(config),
  skills: JSON.stringify(skills),
})

async function addVersion(trx: Transaction<Database>, agent: StoredAgent): Promise<StoredAgent> {
  const values = { agent_id: agent.id, version: agent.version, snapshot: JSON.stringify(agent) }
  await trx.insertInto('agent_versions').values(values).execute()
  return agent
}
