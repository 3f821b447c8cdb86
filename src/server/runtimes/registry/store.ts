import { type Insertable, type Kysely, type Selectable, sql } from 'kysely'
import type { Database } from '../../db/database.ts'
import { type RunSql, sqlOf } from '../../db/once.ts'
import type { RuntimeCredentialTable, RuntimeHarnessTable, RuntimeHealthTable } from '../../db/tables/runtimes.ts'

/** Credential of a built-in runtime, encrypted. */
export type CredentialRow = Selectable<RuntimeCredentialTable>

/** Registered harness with its key encrypted. */
export type HarnessRow = Selectable<RuntimeHarnessTable>

/** Result of the last test of a runtime, with the address and version that were tested. */
export type HealthRow = Omit<Selectable<RuntimeHealthTable>, 'look_after'>

type NewCredential = Omit<Insertable<RuntimeCredentialTable>, 'id' | 'created_at' | 'updated_at'>
type NewHarness = Omit<Insertable<RuntimeHarnessTable>, 'created_at' | 'updated_at'>
type HarnessFields = Omit<NewHarness, 'alias' | 'created_by'>

/** Called in the transaction of a change with the previous row; throwing rolls the change back. */
type OnChange<Row> = (sql: RunSql, before: Row | undefined) => Promise<void>

const healthColumns = ['id', 'api_base', 'version', 'checked_at', 'error'] as const

/** A version that no row of a runtime has. */
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

    /** Inserts or replaces a credential with the result of `make` for the previous row. */
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

    /** Returns true when there was a credential. */
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

    /** Returns false when the alias is taken; of concurrent inserts one succeeds. */
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

    /** Replaces a row with the result of `make`; returns false when there is none. Concurrent updates run in turn. */
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

    /** Returns true when the harness existed. */
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
     * Claims the due health checks among `ids` for this replica, for about `everyMs`, and returns the previous results.
     * A new row has the version -1, which marks it as unchecked.
     */
    async claimHealthChecks(ids: readonly string[], everyMs: number): Promise<HealthRow[]> {
      // Ordered by id, so that two replicas cannot deadlock. The random part spreads the checks over time.
      const claim = sql<HealthRow>`
        insert into runtime_health (id, api_base, version, checked_at, look_after)
        select id, '', ${noVersion}, clock_timestamp(), clock_timestamp() + ${everyMs} * (0.85 + 0.15 * random()) * interval '1 ms'
        from unnest(${[...ids]}::text[]) id order by id
        on conflict (id) do update set look_after = excluded.look_after
          where coalesce(runtime_health.look_after <= clock_timestamp(), true)
        returning ${sql.join(healthColumns.map(name => sql.ref(name)))}`
      return (await claim.execute(db)).rows
    },

    /** Stores the result of a health check, unless the runtime was removed meanwhile. */
    async updateHealth({ id, ...result }: Omit<HealthRow, 'checked_at'>): Promise<void> {
      const values = { ...result, checked_at: sql<Date>`clock_timestamp()` }
      await db.updateTable('runtime_health').set(values).where('id', '=', id).execute()
    },

    /** Stores the result of a test in place of the previous one. */
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
