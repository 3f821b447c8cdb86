import { type Insertable, type Kysely, type Selectable, sql } from 'kysely'
import type { Database } from '../db/database.ts'
import { type RunSql, sqlOf } from '../db/once.ts'
import type { ProviderCredentialTable } from '../db/tables/gateway.ts'
import { changesOf } from './version-store.ts'

/** A stored, encrypted credential. */
export type CredentialRow = Selectable<ProviderCredentialTable>

type NewCredential = Omit<Insertable<ProviderCredentialTable>, 'created_at' | 'updated_at'>

/** Called in the transaction of a change with the row before it. The change is rolled back if it throws. */
type OnChange = (sql: RunSql, before: CredentialRow | undefined) => Promise<void>

export type CredentialStore = ReturnType<typeof credentialStore>

/** Table `provider_credentials`: one row per provider, with its name as the id (our choice: one credential each). */
export function credentialStore(db: Kysely<Database>, announce: () => void) {
  const changing = changesOf(db, announce)

  return {
    all: (): Promise<CredentialRow[]> => db.selectFrom('provider_credentials').selectAll().orderBy('id').execute(),

    /** Inserts or replaces a credential with the result of `make`, which gets the version of the existing one. */
    async put(
      id: string,
      make: (version: number | undefined) => Omit<NewCredential, 'id'>,
      onChange: OnChange,
    ): Promise<void> {
      await changing(async trx => {
        const all = trx.selectFrom('provider_credentials').selectAll()
        const before = await all.where('id', '=', id).forUpdate().executeTakeFirst()
        const values = make(before?.version)
        await trx
          .insertInto('provider_credentials')
          .values({ id, ...values })
          .onConflict(conflict => conflict.column('id').doUpdateSet({ ...values, updated_at: sql`clock_timestamp()` }))
          .execute()
        await onChange(sqlOf(trx), before)
      })
    },

    /** Deletes a credential; false if it does not exist. */
    remove: (id: string, onChange: OnChange): Promise<boolean> =>
      changing(async trx => {
        const one = trx.deleteFrom('provider_credentials').where('id', '=', id)
        const before = await one.returningAll().executeTakeFirst()
        if (!before) return false
        await onChange(sqlOf(trx), before)
        return true
      }),
  }
}
