import type { Pool, PoolClient } from 'pg'
import type { Environment } from '../../contract/environments.ts'
import type { MetadataMap } from '../platform/metadata.ts'

/** Fields of an environment that callers set. */
export interface EnvironmentFields {
  readonly name: string
  readonly description: string | null
  readonly config: Environment['config']
  readonly metadata: MetadataMap
}

export interface EnvironmentRow extends EnvironmentFields {
  readonly id: string
  readonly owner_id: string
  readonly archived_at: Date | null
  readonly created_at: Date
  readonly updated_at: Date
}

interface ListOf {
  /** Lists only environments of this owner; undefined lists all. */
  readonly owner: string | undefined
  readonly withArchived: boolean
  readonly after: string | undefined
  readonly limit: number
}

const columns = 'id, owner_id, name, description, config, metadata, archived_at, created_at, updated_at'

const insertText = `
  insert into environments (id, owner_id, name, description, config, metadata) values ($1, $2, $3, $4, $5, $6)
  returning ${columns}`
const updateText = `
  update environments set name = $2, description = $3, config = $4, metadata = $5, updated_at = clock_timestamp()
  where id = $1 returning ${columns}`
const archiveText = `
  update environments set archived_at = clock_timestamp(), updated_at = clock_timestamp()
  where id = $1 returning ${columns}`

/** Table `environments`. */
export type EnvironmentStore = ReturnType<typeof environmentStore>

export function environmentStore(pool: Pool) {
  async function changed(on: PoolClient, text: string, values: readonly unknown[]): Promise<EnvironmentRow> {
    const { rows } = await on.query<EnvironmentRow>(text, [...values])
    if (!rows[0]) throw new Error('environment is missing although its row is locked (bug)')
    return rows[0]
  }

  return {
    /** Returns the environment; undefined when `owner` has none with that id. An undefined owner matches all. */
    async find(id: string, owner: string | undefined, on: Pick<Pool, 'query'> = pool) {
      const text = `select ${columns} from environments where id = $1 and ($2::text is null or owner_id = $2)`
      return (await on.query<EnvironmentRow>(text, [id, owner])).rows[0]
    },

    /** Like `find`, and locks the row until the end of the transaction. */
    async lock(on: PoolClient, id: string, owner: string | undefined): Promise<EnvironmentRow | undefined> {
      const text = `select ${columns} from environments where id = $1 and ($2::text is null or owner_id = $2) for update`
      return (await on.query<EnvironmentRow>(text, [id, owner])).rows[0]
    },

    /** Newest first. */
    async list({ owner, withArchived, after, limit }: ListOf): Promise<EnvironmentRow[]> {
      const text = `
        select ${columns} from environments
        where ($1::text is null or owner_id = $1) and ($2 or archived_at is null) and ($3::text is null or id < $3)
        order by id desc limit $4`
      return (await pool.query<EnvironmentRow>(text, [owner, withArchived, after, limit])).rows
    },

    insert: (on: PoolClient, id: string, fields: EnvironmentFields & { readonly owner_id: string }) =>
      changed(on, insertText, [id, fields.owner_id, ...valuesOf(fields)]),

    update: (on: PoolClient, id: string, fields: EnvironmentFields) =>
      changed(on, updateText, [id, ...valuesOf(fields)]),

    archive: (on: PoolClient, id: string) => changed(on, archiveText, [id]),

    async remove(on: PoolClient, id: string): Promise<void> {
      await on.query('delete from environments where id = $1', [id])
    },
  }
}

const valuesOf = ({ name, description, config, metadata }: EnvironmentFields): unknown[] => [
  name,
  description,
  JSON.stringify(config),
  JSON.stringify(metadata),
]
