import { type Insertable, type Kysely, type Selectable, sql } from 'kysely'
import { type RunSql, sqlOf } from '../../db/once.ts'
import type { Database, RuntimeCredentialTable, RuntimeHarnessTable, RuntimeHealthTable } from '../../db/types.ts'

/** The credential of a built-in runtime, sealed. */
export type CredentialRow = Selectable<RuntimeCredentialTable>

/** A registered harness, its key sealed. */
export type HarnessRow = Selectable<RuntimeHarnessTable>

/** What the last test of a runtime has said, and of which state of it. */
export type HealthRow = Omit<Selectable<RuntimeHealthTable>, 'look_after'>

type NewCredential = Omit<Insertable<RuntimeCredentialTable>, 'id' | 'created_at' | 'updated_at'>
type NewHarness = Omit<Insertable<RuntimeHarnessTable>, 'created_at' | 'updated_at'>
type HarnessFields = Omit<NewHarness, 'alias' | 'created_by'>

/** Called in the transaction of a change, with the row before it; when it throws, nothing has changed. */
type OnChange<Row> = (sql: RunSql, before: Row | undefined) => Promise<void>

const healthColumns = ['id', 'api_base', 'version', 'checked_at', 'error'] as const

/** What no row of a runtime has. */
const noVersion = -1

/** Tables `runtime_credentials`, `runtime_harnesses` and `runtime_health`. */
export type RuntimeStore = ReturnType<typeof runtimeStore>

export function runtimeStore(db: Kysely<Database>) {
  const credentials = () => db.selectFrom('runtime_credentials').selectAll()
  const harnesses = () => db.selectFrom('runtime_harnesses').selectAll()

  return {
    credential: (id: string): Promise<CredentialRow | undefined> =>
      credentials().where('id', '=', id).executeTakeFirst(),

    credentials: (): Promise<CredentialRow[]> => credentials().orderBy('id').execute(),

    /** Stores what `make` makes of the version before, in the place of what there was. */
    async putCredential(
      id: string,
      make: (before: CredentialRow | undefined) => NewCredential,
      onChange: OnChange<CredentialRow>,
    ): Promise<void> {
      await db.transaction().execute(async trx => {
        const all = trx.selectFrom('runtime_credentials').selectAll()
        const before = await all.where('id', '=', id).forUpdate().executeTakeFirst()
        const values = make(before)
        await trx
          .insertInto('runtime_credentials')
          .values({ id, ...values })
          .onConflict(conflict => conflict.column('id').doUpdateSet({ ...values, updated_at: sql`clock_timestamp()` }))
          .execute()
        await onChange(sqlOf(trx), before)
      })
    },

    /** True when there was one. */
    removeCredential: (id: string, onChange: OnChange<CredentialRow>): Promise<boolean> =>
      db.transaction().execute(async trx => {
        const one = trx.deleteFrom('runtime_credentials').where('id', '=', id)
        const before = await one.returningAll().executeTakeFirst()
        if (!before) return false
        await trx.deleteFrom('runtime_health').where('id', '=', id).execute()
        await onChange(sqlOf(trx), before)
        return true
      }),

    harness: (alias: string): Promise<HarnessRow | undefined> =>
      harnesses().where('alias', '=', alias).executeTakeFirst(),

    harnesses: (): Promise<HarnessRow[]> => harnesses().orderBy('alias').execute(),

    /** False when the alias is taken; of two at a time one wins. */
    insertHarness: (values: NewHarness, onChange: OnChange<HarnessRow>): Promise<boolean> =>
      db.transaction().execute(async trx => {
        const insert = trx.insertInto('runtime_harnesses').values(values)
        const { numInsertedOrUpdatedRows } = await insert
          .onConflict(conflict => conflict.column('alias').doNothing())
          .executeTakeFirstOrThrow()
        if (numInsertedOrUpdatedRows !== 1n) return false
        await onChange(sqlOf(trx), undefined)
        return true
      }),

    /** Replaces what `make` makes of the row before; false when there is none. Concurrent updates queue up. */
    updateHarness: (
      alias: string,
      make: (before: HarnessRow) => HarnessFields,
      onChange: OnChange<HarnessRow>,
    ): Promise<boolean> =>
      db.transaction().execute(async trx => {
        const all = trx.selectFrom('runtime_harnesses').selectAll()
        const before = await all.where('alias', '=', alias).forUpdate().executeTakeFirst()
        if (!before) return false
        await trx
          .updateTable('runtime_harnesses')
          .set({ ...make(before), updated_at: sql`clock_timestamp()` })
          .where('alias', '=', alias)
          .execute()
        await onChange(sqlOf(trx), before)
        return true
      }),

    /** True when there was such a harness. */
    removeHarness: (alias: string, onChange: OnChange<HarnessRow>): Promise<boolean> =>
      db.transaction().execute(async trx => {
        const one = trx.deleteFrom('runtime_harnesses').where('alias', '=', alias)
        const before = await one.returningAll().executeTakeFirst()
        if (!before) return false
        await trx.deleteFrom('runtime_health').where('id', '=', alias).execute()
        await onChange(sqlOf(trx), before)
        return true
      }),

    health: (): Promise<HealthRow[]> => db.selectFrom('runtime_health').select(healthColumns).execute(),

    /**
     * Those of `ids` that are due for a look, taken for this replica until about `everyMs` from now, and what was said of
     * each before. A row that is made for it is of no version: it says nothing yet.
     */
    async claimLooks(ids: readonly string[], everyMs: number): Promise<HealthRow[]> {
      // In one order, so that two replicas wait for one another and never for each other. Not all of them at one moment.
      const claim = sql<HealthRow>`
        insert into runtime_health (id, api_base, version, checked_at, look_after)
        select id, '', ${noVersion}, clock_timestamp(), clock_timestamp() + ${everyMs} * (0.85 + 0.15 * random()) * interval '1 ms'
        from unnest(${[...ids]}::text[]) id order by id
        on conflict (id) do update set look_after = excluded.look_after
          where coalesce(runtime_health.look_after <= clock_timestamp(), true)
        returning ${sql.join(healthColumns.map(name => sql.ref(name)))}`
      return (await claim.execute(db)).rows
    },

    /** Keeps what a look has said. Nothing when the runtime was removed meanwhile. */
    async noteHealth({ id, ...said }: Omit<HealthRow, 'checked_at'>): Promise<void> {
      const values = { ...said, checked_at: sql<Date>`clock_timestamp()` }
      await db.updateTable('runtime_health').set(values).where('id', '=', id).execute()
    },

    /** Keeps what a test has said, in the place of the one before. */
    async setHealth({ id, api_base, version, error }: Omit<HealthRow, 'checked_at'>): Promise<void> {
      const values = { api_base, version, error, checked_at: sql<Date>`clock_timestamp()` }
      await db
        .insertInto('runtime_health')
        .values({ id, ...values })
        .onConflict(conflict => conflict.column('id').doUpdateSet(values))
        .execute()
    },
  }
}
