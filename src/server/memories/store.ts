import type { Pool } from 'pg'
import type { Memory, MemorySource } from '../../contract/memories.ts'
import { transaction } from '../db/connect.ts'
import { type RunSql, sqlOfClient } from '../db/once.ts'
import { fold } from './fold.ts'
import { columns, isBehind, type MemoryRow, order, place, placeValues, toMemory } from './rows.ts'

/** Identifies an agent; owner undefined: of any owner. */
export interface OfAgent {
  readonly agentId: string
  readonly owner: string | undefined
}

/** Fields of a new memory; the database sets the others. */
export interface NewMemory {
  readonly id: string
  readonly text: string
  readonly tags: readonly string[]
  readonly type: string
  readonly priority: number
  readonly disabled: boolean
  readonly source: MemorySource
  readonly session_id: string | null
  readonly created_by: string
}

/** Fields that a change may set. */
export type MemoryFields = Pick<NewMemory, 'text' | 'tags' | 'type' | 'priority' | 'disabled'>

export interface Filter {
  /** Substring of the text, case-insensitive. */
  readonly q?: string | undefined
  /** A tsquery, used in place of `q`. */
  readonly words?: string | undefined
  readonly tag?: string | undefined
  readonly type?: string | undefined
  readonly source?: MemorySource | undefined
  readonly disabled?: boolean | undefined
  readonly withDisabled: boolean
}

interface Page {
  readonly after: string | undefined
  readonly limit: number
}

/** A memory and its position in the list, for cursors. */
export interface Listed {
  readonly memory: Memory
  readonly place: string
}

/** Called in the transaction of a change. When it throws, the change rolls back. */
export type OnChange = (
  sql: RunSql,
  ownerId: string,
  before: Memory | undefined,
  after: Memory | undefined,
) => Promise<void>

type OwnedRow = MemoryRow & { readonly owner_id: string }

const isOfOwner = 'a.id = $1 and ($2::text is null or a.owner_id = $2)'
const listText = `
  select ${columns}, ${place} from memories m
  where m.agent_id = $1 and (not m.disabled or $2::boolean)
    and ($3::text is null or strpos(m.folded, $3) > 0) and ($4::text is null or $4 = any(m.tags)) and ${isBehind(5)}
    and ($10::text is null or m.type = $10) and ($11::text is null or m.source = $11)
    and ($12::boolean is null or m.disabled = $12)
  order by ${order} limit $9`
const rankedText = `
  select ${columns}, ${place} from memories m
  where m.agent_id = $1 and (not m.disabled or $2::boolean) and m.words @@ $3::tsquery
    and ($4::text is null or $4 = any(m.tags))
    and ($7::text is null or m.type = $7) and ($8::text is null or m.source = $8)
    and ($9::boolean is null or m.disabled = $9)
  order by (strpos(m.folded, $5) > 0) desc, ts_rank(m.words, $3::tsquery, 1) desc, ${order} limit $6`
/** Locks rows in the order of ids, so that concurrent searches cannot deadlock. */
const countText = `
  with locked as (select id from memories where id = any($1) order by id for update)
  update memories m set times_applied = m.times_applied + 1, last_applied_at = clock_timestamp() from locked
  where m.id = locked.id returning ${columns}`
const insertText = `
  insert into memories as m
    (id, agent_id, text, folded, tags, type, priority, disabled, source, session_id, created_by)
  select r.id, a.id, r.text, r.folded, r.tags, r.type, r.priority, r.disabled, r.source, r.session_id, r.created_by
  from agents a, json_to_recordset($3) as r (
    id text, text text, folded text, tags text[], type text, priority integer, disabled boolean, source text,
    session_id text, created_by text)
  where ${isOfOwner} and not ($4 and exists (
    select from memories k where k.agent_id = a.id and md5(k.text) = md5(r.text) and k.text = r.text))
  returning ${columns}, (select owner_id from agents where id = m.agent_id) as owner_id`
const lockText = `
  select ${columns}, a.owner_id from memories m join agents a on a.id = m.agent_id
  where ${isOfOwner} and m.id = $3 for update of m`
const updateText = `
  update memories m set text = $2, folded = $3, tags = $4, type = $5, priority = $6, disabled = $7
  where m.id = $1 returning ${columns}`

/** Table `memories`. Every call is narrowed to one agent and its owner. */
export type MemoryStore = ReturnType<typeof memoryStore>

export function memoryStore(pool: Pool) {
  return {
    /** True when `owner` has the agent. */
    async hasAgent({ agentId, owner }: OfAgent): Promise<boolean> {
      const { rows } = await pool.query(`select from agents a where ${isOfOwner}`, [agentId, owner ?? null])
      return rows.length > 0
    },

    /** Returns a memory; undefined when the agent has none with that id. */
    async find({ agentId, owner, id }: OfAgent & { readonly id: string }): Promise<Memory | undefined> {
      const text = `select ${columns} from memories m join agents a on a.id = m.agent_id where ${isOfOwner} and m.id = $3`
      const { rows } = await pool.query<MemoryRow>(text, [agentId, owner ?? null, id])
      return rows[0] && toMemory(rows[0])
    },

    /** Returns memories in the order of injection; with `words`, best match first and without further pages. */
    async list(agentId: string, filter: Filter, { after, limit }: Page): Promise<Listed[]> {
      const { q, words, tag, type, source, disabled, withDisabled } = filter
      const kind = [type ?? null, source ?? null, disabled ?? null]
      const part = q === undefined ? null : fold(q)
      const [text, values] =
        words === undefined
          ? [listText, [agentId, withDisabled, part, tag ?? null, ...placeValues(after), limit, ...kind]]
          : [rankedText, [agentId, withDisabled, words, tag ?? null, part, limit, ...kind]]
      const { rows } = await pool.query<MemoryRow & { place: string }>(text, values)
      return rows.map(row => ({ memory: toMemory(row), place: row.place }))
    },

    /** Counts one use of each; returns the changed memories in no particular order. */
    async countUse(ids: readonly string[]): Promise<Memory[]> {
      if (ids.length === 0) return []
      return (await pool.query<MemoryRow>(countText, [ids])).rows.map(toMemory)
    },

    /**
     * Inserts all or none. With `onlyNew`, texts that the agent has already are skipped. Returns [] for an unknown
     * agent.
     */
    async insert(
      { agentId, owner }: OfAgent,
      { memories, onlyNew = false }: { memories: readonly NewMemory[]; onlyNew?: boolean },
      onAdded: (sql: RunSql, ownerId: string, added: readonly Memory[]) => Promise<void>,
    ): Promise<Memory[]> {
      const json = JSON.stringify(memories.map(memory => ({ ...memory, folded: fold(memory.text) })))
      return transaction(pool, async client => {
        const { rows } = await client.query<OwnedRow>(insertText, [agentId, owner ?? null, json, onlyNew])
        const added = rows.map(toMemory)
        if (rows[0]) await onAdded(sqlOfClient(client), rows[0].owner_id, added)
        return added
      })
    },

    /** Returns the agent's memory with exactly this text. */
    async withText(agentId: string, text: string): Promise<Memory | undefined> {
      const found = `select ${columns} from memories m where m.agent_id = $1 and md5(m.text) = md5($2) and m.text = $2`
      const { rows } = await pool.query<MemoryRow>(`${found} order by m.id limit 1`, [agentId, text])
      return rows[0] && toMemory(rows[0])
    },

    /** Changes a memory; returns undefined when it does not exist. Concurrent changes run one after another. */
    async update(
      which: OfAgent & { readonly id: string },
      change: (memory: Memory) => MemoryFields,
      onChange: OnChange,
    ): Promise<Memory | undefined> {
      return transaction(pool, async client => {
        const { rows } = await client.query<OwnedRow>(lockText, [which.agentId, which.owner ?? null, which.id])
        const [row] = rows
        if (!row) return undefined
        const before = toMemory(row)
        const { text, tags, type, priority, disabled } = change(before)
        const values = [which.id, text, fold(text), tags, type, priority, disabled]
        const updated = await client.query<MemoryRow>(updateText, values)
        const after = updated.rows[0] && toMemory(updated.rows[0])
        await onChange((sql, given) => client.query(sql, [...given]), row.owner_id, before, after)
        return after
      })
    },

    /** Returns whether the memory existed. */
    async remove(which: OfAgent & { readonly id: string }, onChange: OnChange): Promise<boolean> {
      return transaction(pool, async client => {
        const { rows } = await client.query<OwnedRow>(lockText, [which.agentId, which.owner ?? null, which.id])
        if (!rows[0]) return false
        await client.query('delete from memories where id = $1', [which.id])
        const sql = sqlOfClient(client)
        await onChange(sql, rows[0].owner_id, toMemory(rows[0]), undefined)
        return true
      })
    },
  }
}
