import { type Insertable, type Kysely, type Selectable, sql } from 'kysely'
import { type RunSql, sqlOf } from '../../db/once.ts'
import type { Database, RuntimeCredentialTable, RuntimeHarnessTable, RuntimeHealthTable } from '../../db/types.ts'

/** The credential of a built-in runtime, sealed. */
export type CredentialRow = Selectable<RuntimeCredentialTable>

/** A registered harness, its key sealed. */
export type HarnessRow = Selectable<RuntimeHarnessTable>

/** What the last test of a runtime has said, and of which state of it. */
export type HealthRow = Selectable<RuntimeHealthTable>

type NewCredential = Omit<Insertable<RuntimeCredentialTable>, 'id' | 'created_at' | 'updated_at'>
type NewHarness = Omit<Insertable<RuntimeHarnessTable>, 'created_at' | 'updated_at'>
type HarnessFields = Omit<NewHarness, 'alias' | 'created_by'>

/** Called in the transaction of a change, with the row before it; when it throws, nothing has changed. */
type OnChange<Row> = (sql: RunSql, before: Row | undefined) => Promise<void>

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
      make: (version: number | undefined) => NewCredential,
      onChange: OnChange<CredentialRow>,
    ): Promise<void> {
      await db.transaction().execute(async trx => {
        const all = trx.selectFrom('runtime_credentials').selectAll()
        const before = await all.where('id', '=', id).forUpdate().executeTakeFirst()
        const values = make(before?.version)
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

    health: (): Promise<HealthRow[]> => db.selectFrom('runtime_health').selectAll().execute(),

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
