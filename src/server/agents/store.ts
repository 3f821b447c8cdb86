import {
  type Expression,
  type ExpressionBuilder,
  type Insertable,
  type Kysely,
  type Selectable,
  type SqlBool,
  sql,
  type Transaction,
} from 'kysely'
import type { PoolClient } from 'pg'
import type { Agent, AgentStatus, AgentVersion } from '../../contract/agents.ts'
import { kyselyOn } from '../db/connect.ts'
import type { Database } from '../db/database.ts'
import { type OnceKey, once, type RunSql, sqlOf } from '../db/once.ts'
import type { AgentTable, AgentVersionTable } from '../db/tables/agents.ts'
import { agentFields, completed, fieldNames, storedNames } from './fields.ts'
import type { AgentFields, StoredAgent } from './stored-agent.ts'

/** A version. Its `run_as_key_id` is that of the last change of model, tools or config, whoever wrote the webhook secret since. */
export interface StoredVersion extends AgentVersion {
  readonly agent: StoredAgent
}

const toAgent = ({ created_at, ...row }: Pick<Selectable<AgentTable>, keyof StoredAgent>): StoredAgent => ({
  ...row,
  created_at: created_at.getTime(),
})

export interface PageOf {
  /** Last id (or version) of the previous page. */
  readonly after: string | undefined
  readonly limit: number
}

/** Filter of an agent list; all agents by default. */
export interface AgentFilter {
  readonly status?: AgentStatus | undefined
  readonly runtime?: string | undefined
  readonly model?: string | undefined
  /** Part of the name, or the id. */
  readonly text?: string | undefined
  readonly without?: AgentStatus | undefined
  /** Created at this time or later. */
  readonly from?: Date | undefined
  /** Created before this time. */
  readonly before?: Date | undefined
}

/** Identifies an agent; owner undefined: of any owner. */
interface Which {
  readonly id: string
  readonly owner: string | undefined
}

/** What is stored with a version about its making. */
export interface VersionMark {
  readonly note: string | null
  /** Principal. */
  readonly created_by: string | null
}

/** Called in the transaction of a change, with the agent before and after it. When it throws, the change rolls back. */
export type OnChange = (sql: RunSql, before: StoredAgent | undefined, after: StoredAgent | undefined) => Promise<void>

/** Tables `agents` and `agent_versions`. Each change adds a version; versions stay after the agent is deleted. */
export type AgentStore = ReturnType<typeof agentStore>

function agentReads(db: Kysely<Database>) {
  return {
    /** Returns the agent; undefined when `owner` has none with that id. Owner undefined: of any owner. */
    async find(id: string, owner: string | undefined): Promise<StoredAgent | undefined> {
      let mine = db.selectFrom('agents').where('id', '=', id)
      if (owner !== undefined) mine = mine.where('owner_id', '=', owner)
      const row = await mine.select(storedNames).executeTakeFirst()
      return row && toAgent(row)
    },

    /** Returns one version, also of a deleted agent. */
    async version(id: string, version: number): Promise<StoredVersion | undefined> {
      const all = db.selectFrom('agent_versions').where('agent_id', '=', id)
      const row = await all.where('version', '=', version).selectAll().executeTakeFirst()
      return row && toVersion(row)
    },
  }
}

/** Versions that a process caches: they never change, and each turn of a session reads one. */
const maxCachedVersions = 200

/** Returns `read` with a cache of the versions that were used last. */
function cachedReads(read: (id: string, version: number) => Promise<StoredVersion | undefined>): typeof read {
  const cached = new Map<string, StoredVersion>()
  return async (id, version) => {
    const name = `${version} ${id}`
    const found = cached.get(name) ?? (await read(id, version))
    if (!found) return undefined
    cached.delete(name)
    cached.set(name, found)
    const [oldest = ''] = cached.keys()
    if (cached.size > maxCachedVersions) cached.delete(oldest)
    return found
  }
}

export function agentStore(db: Kysely<Database>) {
  const reads = agentReads(db)
  const version = cachedReads(reads.version)
  return {
    ...reads,
    version,

    /** Returns the same reads in the caller's open transaction: a second connection of the pool could deadlock. */
    within: (client: PoolClient) => agentReads(kyselyOn(client)),

    /** Returns agents, newest first. */
    async list(owner: string | undefined, { after, limit, ...filter }: PageOf & AgentFilter): Promise<StoredAgent[]> {
      const mine = db
        .selectFrom('agents')
        .select(storedNames)
        .where(matching({ owner, after, ...filter }))
      return (await mine.orderBy('id', 'desc').limit(limit).execute()).map(toAgent)
    },

    /** Inserts an agent with its first version, once per idempotency key. */
    async insert(
      values: AgentFields & Pick<StoredAgent, 'id' | 'run_as_key_id'>,
      { key, mark }: { readonly key: OnceKey | undefined; readonly mark: VersionMark },
      onChange: OnChange,
    ): Promise<StoredAgent> {
      return db.transaction().execute(trx =>
        once(sqlOf(trx), key, async () => {
          const added = trx
            .insertInto('agents')
            .values({ id: values.id, run_as_key_id: values.run_as_key_id, ...asRow(values) })
          const row = await added.returning(storedNames).executeTakeFirstOrThrow()
          const agent = toAgent(row)
          await addVersion(trx, agent, mark)
          await onChange(sqlOf(trx), undefined, agent)
          return agent
        }),
      )
    },

    /**
     * Replaces the fields of an agent and adds a version; writes nothing when `change` returns undefined. Returns
     * undefined when the agent does not exist. Concurrent updates run one after another.
     */
    async update(
      { id, owner, mark }: Which & { readonly mark: VersionMark },
      change: (agent: StoredAgent) => AgentChange | undefined,
      onChange: OnChange,
    ): Promise<StoredAgent | undefined> {
      return db.transaction().execute(async trx => {
        let mine = trx.selectFrom('agents').where('id', '=', id)
        if (owner !== undefined) mine = mine.where('owner_id', '=', owner)
        const found = await mine.select(storedNames).forUpdate().executeTakeFirst()
        if (!found) return undefined
        const before = toAgent(found)
        const changed = change(before)
        if (!changed) return before
        const { status, run_as_key_id, isSameWork, ...fields } = changed
        const row = await trx
          .updateTable('agents')
          .set({ ...asRow(fields), status, run_as_key_id, version: found.version + 1 })
          .where('id', '=', id)
          .returning(storedNames)
          .executeTakeFirstOrThrow()
        const agent = toAgent(row)
        const last = isSameWork ? await agentReads(trx).version(id, found.version) : undefined
        await addVersion(trx, last ? { ...agent, run_as_key_id: last.agent.run_as_key_id } : agent, mark)
        await onChange(sqlOf(trx), before, agent)
        return agent
      })
    },

    /** Returns whether the agent existed. */
    async remove({ id, owner }: Which, onChange: OnChange): Promise<boolean> {
      return db.transaction().execute(async trx => {
        let mine = trx.deleteFrom('agents').where('id', '=', id)
        if (owner !== undefined) mine = mine.where('owner_id', '=', owner)
        const removed = await mine.returning(storedNames).executeTakeFirst()
        if (removed) await onChange(sqlOf(trx), toAgent(removed), undefined)
        return removed !== undefined
      })
    },

    /** Returns the `config` of one version; undefined when it does not exist. */
    async versionConfig(id: string, number: number): Promise<Agent['config'] | undefined> {
      return (await version(id, number))?.agent.config
    },

    /** Returns agents whose prompt contains `text`, newest first. */
    async withText(text: string, owner: string | undefined, { after, limit }: PageOf): Promise<StoredAgent[]> {
      let mine = db.selectFrom('agents').where(sql<boolean>`strpos(system, ${text}) > 0`)
      if (owner !== undefined) mine = mine.where('owner_id', '=', owner)
      if (after !== undefined) mine = mine.where('id', '<', after)
      return (await mine.select(storedNames).orderBy('id', 'desc').limit(limit).execute()).map(toAgent)
    },

    /** Returns versions, newest first. */
    async versions(id: string, { after, limit }: PageOf): Promise<StoredVersion[]> {
      let all = db.selectFrom('agent_versions').where('agent_id', '=', id).selectAll()
      if (after !== undefined) all = all.where('version', '<', Number(after))
      return (await all.orderBy('version', 'desc').limit(limit).execute()).map(toVersion)
    },
  }
}

export type AgentChange = AgentFields &
  Pick<StoredAgent, 'status' | 'run_as_key_id'> & {
    /** True if the change is not of what an agent does. The new version then has the `run_as_key_id` of the version before. */
    readonly isSameWork: boolean
  }

/** Returns the condition of a list: absent values select everything. */
function matching({ owner, after, without, from, before, status, runtime, model, text }: Selection) {
  const conditions: readonly (readonly [value: unknown, condition: Expression<SqlBool>])[] = [
    [owner, sql`owner_id = ${owner}`],
    [after, sql`id < ${after}`],
    [without, sql`status <> ${without}`],
    [from, sql`created_at >= ${from}`],
    [before, sql`created_at < ${before}`],
    [status, sql`status = ${status}`],
    [runtime, sql`harness = ${runtime}`],
    [model, sql`model = ${model}`],
    [text, sql`(id = ${text} or strpos(lower(name), lower(${text})) > 0)`],
  ]
  return ({ and }: ExpressionBuilder<Database, 'agents'>): Expression<SqlBool> =>
    and(conditions.flatMap(([value, condition]) => (value === undefined ? [] : [condition])))
}

interface Selection extends AgentFilter {
  readonly owner: string | undefined
  readonly after: string | undefined
}

const toVersion = (row: Selectable<AgentVersionTable>): StoredVersion => ({
  version: row.version,
  created_at: row.created_at.getTime(),
  note: row.note,
  created_by: row.created_by,
  agent: completed(row.snapshot as Partial<StoredAgent>),
})

/** Values of the columns that a write sets. */
type FieldColumns = Pick<Insertable<AgentTable>, keyof AgentFields>

const asRow = (fields: AgentFields): FieldColumns =>
  Object.fromEntries(
    fieldNames.map(name => [name, agentFields[name].isJson ? JSON.stringify(fields[name]) : fields[name]]),
  ) as FieldColumns

async function addVersion(trx: Transaction<Database>, agent: StoredAgent, mark: VersionMark): Promise<void> {
  const values = { agent_id: agent.id, version: agent.version, snapshot: JSON.stringify(agent), ...mark }
  await trx.insertInto('agent_versions').values(values).execute()
}
