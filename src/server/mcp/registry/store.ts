import type { Pool, PoolClient } from 'pg'
import { transaction } from '../../db/connect.ts'
import { hint } from '../../db/hints.ts'
import type { ServerFacts } from './server.ts'

/** Fields of a stored server that a write sets. */
export interface ServerValues extends ServerFacts {
  readonly sealed: Buffer | null
  readonly key_id: string | null
}

/** Row of a server. */
export interface ServerRow extends ServerValues {
  readonly server_id: string
  readonly created_at: Date
  readonly updated_at: Date
}

const columns = `server_id, server_name, alias, description, url, auth_type, has_credentials, vault_key, static_headers,
  allowed_tools, disallowed_tools, require_approval, oauth2_flow, version, sealed, key_id, created_at, updated_at`

const isNamed = '(server_id = $1 or server_name = $1 or alias = $1)'
/** An id has precedence over a name, a name over an alias. */
const byPrecedence = 'order by server_id = $1 desc, server_name = $1 desc limit 1'

const valuesOf = (row: ServerValues): unknown[] => [
  row.server_name,
  row.alias,
  row.description,
  row.url,
  row.auth_type,
  row.has_credentials,
  row.vault_key,
  JSON.stringify(row.static_headers),
  row.allowed_tools && JSON.stringify(row.allowed_tools),
  row.disallowed_tools && JSON.stringify(row.disallowed_tools),
  row.require_approval && JSON.stringify(row.require_approval),
  row.version,
  row.sealed,
  row.key_id,
  row.oauth2_flow,
]

/** Notification channel of changed servers. */
export const serverChannel = 'mcp_servers'

/** Table `mcp_servers`. */
export type McpServerStore = ReturnType<typeof mcpServerStore>

export function mcpServerStore(pool: Pool) {
  return {
    /** Runs writes one at a time, so that names and aliases stay unique together. */
    write: <T>(work: (client: PoolClient) => Promise<T>): Promise<T> =>
      transaction(pool, async client => {
        await client.query('lock table mcp_servers in share row exclusive mode')
        hint(client, serverChannel, '')
        return work(client)
      }),

    async list(): Promise<ServerRow[]> {
      return (await pool.query<ServerRow>(`select ${columns} from mcp_servers order by server_name`)).rows
    },

    async count(client: PoolClient): Promise<number> {
      const { rows } = await client.query<{ count: number }>('select count(*) from mcp_servers')
      return rows[0]?.count ?? 0
    },

    /** Returns the server with this id, name or alias. */
    async find(name: string, on: Pool | PoolClient = pool): Promise<ServerRow | undefined> {
      const text = `select ${columns} from mcp_servers where ${isNamed} ${byPrecedence}`
      return (await on.query<ServerRow>(text, [name])).rows[0]
    },

    /** Returns the first of the names that another server has as its id, name or alias. */
    async taken(client: PoolClient, names: readonly string[], exceptId: string): Promise<string | undefined> {
      const text = `
        select given.name from unnest($1::text[]) given (name)
        join mcp_servers s on given.name in (s.server_id, s.server_name, s.alias) where s.server_id <> $2 limit 1`
      return (await client.query<{ name: string }>(text, [names, exceptId])).rows[0]?.name
    },

    async insert(
      client: PoolClient,
      id: string,
      row: ServerValues & { readonly created_by: string },
    ): Promise<ServerRow> {
      const text = `
        insert into mcp_servers (server_id, server_name, alias, description, url, auth_type, has_credentials, vault_key,
                                 static_headers, allowed_tools, disallowed_tools, require_approval, version, sealed, key_id,
                                 oauth2_flow,
                                 created_by)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17) returning ${columns}`
      return written((await client.query<ServerRow>(text, [id, ...valuesOf(row), row.created_by])).rows)
    },

    async update(client: PoolClient, id: string, row: ServerValues): Promise<ServerRow> {
      const text = `
        update mcp_servers set server_name = $2, alias = $3, description = $4, url = $5, auth_type = $6,
          has_credentials = $7, vault_key = $8, static_headers = $9, allowed_tools = $10, disallowed_tools = $11,
          require_approval = $12, version = $13, sealed = $14, key_id = $15, oauth2_flow = $16,
          updated_at = clock_timestamp()
        where server_id = $1 returning ${columns}`
      await client.query('delete from mcp_logins where server_id = $1 and url <> $2', [id, row.url])
      return written((await client.query<ServerRow>(text, [id, ...valuesOf(row)])).rows)
    },

    async remove(client: PoolClient, id: string): Promise<void> {
      await client.query('delete from mcp_servers where server_id = $1', [id])
      for (const table of ['mcp_server_states', 'mcp_authorizations', 'mcp_logins'])
        await client.query(`delete from ${table} where server_id = $1`, [id])
    },
  }
}

function written<T>([row]: T[]): T {
  if (!row) throw new Error('statement returned no row')
  return row
}
