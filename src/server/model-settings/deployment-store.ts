import { type Insertable, type Kysely, type Selectable, sql } from 'kysely'
import type { Database } from '../db/database.ts'
import { type RunSql, sqlOf } from '../db/once.ts'
import type { DeploymentTable } from '../db/tables/gateway.ts'
import type { Params } from './secret-params.ts'
import { changesOf } from './version-store.ts'

/** A model added through the API, with encrypted secrets. */
export type DeploymentRow = Omit<Selectable<DeploymentTable>, 'params'> & { readonly params: Params }

/** Columns that a change of a model writes. */
export type DeploymentFields = Pick<Insertable<DeploymentTable>, 'model_name' | 'version' | 'sealed' | 'key_id'> & {
  readonly params: Params
}

/** A row before and after a change. */
export interface DeploymentChange {
  readonly before?: DeploymentRow
  readonly after?: DeploymentFields
}

/** Called in the transaction of a change, which is rolled back if it throws. */
type OnChange = (sql: RunSql, change: DeploymentChange) => Promise<void>

export type DeploymentStore = ReturnType<typeof deploymentStore>

/** Table `deployments`: models added through the API. */
export function deploymentStore(db: Kysely<Database>, announce: () => void) {
  const changing = changesOf(db, announce)

  return {
    /** Returns all models in the order of their creation. */
    all: async (): Promise<DeploymentRow[]> =>
      (await db.selectFrom('deployments').selectAll().orderBy('id').execute()).map(toRow),

    async insert(
      { id, created_by, ...fields }: DeploymentFields & { id: string; created_by: string },
      onChange: OnChange,
    ): Promise<void> {
      await changing(async trx => {
        await trx
          .insertInto('deployments')
          .values({ id, created_by, ...asRow(fields) })
          .execute()
        await onChange(sqlOf(trx), { after: fields })
      })
    },

    /** Updates a row with the result of `change`; false if it does not exist. Concurrent updates are serialised. */
    update: (id: string, change: (row: DeploymentRow) => DeploymentFields, onChange: OnChange): Promise<boolean> =>
      changing(async trx => {
        const all = trx.selectFrom('deployments').selectAll()
        const found = await all.where('id', '=', id).forUpdate().executeTakeFirst()
        if (!found) return false
        const before = toRow(found)
        const after = change(before)
        await trx
          .updateTable('deployments')
          .set({ ...asRow(after), updated_at: sql`clock_timestamp()` })
          .where('id', '=', id)
          .execute()
        await onChange(sqlOf(trx), { before, after })
        return true
      }),

    /** Deletes a model; false if it does not exist. */
    remove: (id: string, onChange: OnChange): Promise<boolean> =>
      changing(async trx => {
        const before = await trx.deleteFrom('deployments').where('id', '=', id).returningAll().executeTakeFirst()
        if (!before) return false
        await onChange(sqlOf(trx), { before: toRow(before) })
        return true
      }),
  }
}

const toRow = (row: Selectable<DeploymentTable>): DeploymentRow => ({ ...row, params: row.params as Params })

const asRow = ({ params, ...fields }: DeploymentFields) => ({ ...fields, params: JSON.stringify(params) })
