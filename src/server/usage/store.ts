import type { Kysely } from 'kysely'
import type { Database } from '../db/types.ts'
import type { UsageRow } from './usage.ts'

export type UsageStore = ReturnType<typeof usageStore>

/** Table `usage`: one row a model call. */
export function usageStore(db: Kysely<Database>) {
  return {
    /** Adds rows. One that is there already stays as it is, so a batch of unknown fate can be sent again. */
    async insert(rows: readonly UsageRow[]): Promise<void> {
      if (rows.length === 0) return
      await db
        .insertInto('usage')
        .values([...rows])
        .onConflict(conflict => conflict.column('id').doNothing())
        .execute()
    },
  }
}
