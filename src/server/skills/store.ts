import { type Kysely, type Selectable, sql } from 'kysely'
import type { Skill } from '../../contract/skills.ts'
import type { Database } from '../db/database.ts'
import { type RunSql, sqlOf } from '../db/once.ts'
import type { SkillTable } from '../db/tables/agents.ts'

/** Fields of a skill that a write sets; the store sets the others. */
export type SkillFields = Pick<Skill, 'name' | 'description' | 'content'>

/** Identifies a skill and its principal. */
interface Which {
  readonly id: string
  readonly owner: string
}

interface PageOf {
  /** Last id of the previous page. */
  readonly after: string | undefined
  readonly limit: number
}

/** Called in the transaction of a change, with the skill before and after it. When it throws, the change rolls back. */
export type OnChange = (sql: RunSql, before: Skill | undefined, after: Skill | undefined) => Promise<void>

const columns = ['id', 'name', 'description', 'content', 'created_at'] as const

const toSkill = (row: Pick<Selectable<SkillTable>, (typeof columns)[number]>): Skill => ({
  id: row.id,
  name: row.name,
  description: row.description,
  content: row.content,
  created_at: row.created_at.toISOString(),
})

const insertText = `
  insert into skills (id, owner_id, name, description, content) values ($1, $2, $3, $4, $5)
  returning ${columns.join(', ')}`

/** Table `skills`: the library. Every call is narrowed to one principal. */
export type SkillStore = ReturnType<typeof skillStore>

export function skillStore(db: Kysely<Database>) {
  return {
    /** Returns skills, newest first. */
    async list(owner: string, { after, limit }: PageOf): Promise<Skill[]> {
      let mine = db.selectFrom('skills').where('owner_id', '=', owner).select(columns)
      if (after !== undefined) mine = mine.where('id', '<', after)
      return (await mine.orderBy('id', 'desc').limit(limit).execute()).map(toSkill)
    },

    async find({ id, owner }: Which): Promise<Skill | undefined> {
      const mine = db.selectFrom('skills').where('owner_id', '=', owner).where('id', '=', id)
      const row = await mine.select(columns).executeTakeFirst()
      return row && toSkill(row)
    },

    /** Returns the given skills that belong to the principal. */
    async among(owner: string, ids: readonly string[]): Promise<Skill[]> {
      if (ids.length === 0) return []
      const mine = db.selectFrom('skills').where('owner_id', '=', owner).where('id', 'in', ids)
      return (await mine.select(columns).execute()).map(toSkill)
    },

    /** Inserts a skill in the caller's open transaction. */
    async insert(sql: RunSql, { id, owner }: Which, fields: SkillFields, onChange: OnChange): Promise<Skill> {
      const { rows } = await sql(insertText, [id, owner, fields.name, fields.description, fields.content])
      const skill = toSkill(rows[0] as Parameters<typeof toSkill>[0])
      await onChange(sql, undefined, skill)
      return skill
    },

    /** Runs `work` in a new transaction. */
    changing: <T>(work: (sql: RunSql) => Promise<T>): Promise<T> => db.transaction().execute(trx => work(sqlOf(trx))),

    /**
     * Replaces the given fields; returns undefined when the skill does not exist. A change of the text adds a version.
     * Concurrent updates run one after another.
     */
    async update({ id, owner }: Which, fields: Partial<SkillFields>, onChange: OnChange): Promise<Skill | undefined> {
      return db.transaction().execute(async trx => {
        const mine = trx.selectFrom('skills').where('owner_id', '=', owner).where('id', '=', id)
        const found = await mine.select(columns).forUpdate().executeTakeFirst()
        if (!found) return undefined
        const before = toSkill(found)
        const { name, description, content } = { ...before, ...fields }
        const changed = trx
          .updateTable('skills')
          .set({ name, description, content, updated_at: sql`clock_timestamp()` })
          .where('id', '=', id)
        const after = toSkill(await changed.returning(columns).executeTakeFirstOrThrow())
        await onChange(sqlOf(trx), before, after)
        return after
      })
    },

    /** Returns whether the skill existed. */
    async remove({ id, owner }: Which, onChange: OnChange): Promise<boolean> {
      return db.transaction().execute(async trx => {
        const mine = trx.deleteFrom('skills').where('owner_id', '=', owner).where('id', '=', id)
        const removed = await mine.returning(columns).executeTakeFirst()
        if (removed) await onChange(sqlOf(trx), toSkill(removed), undefined)
        return removed !== undefined
      })
    },
  }
}
