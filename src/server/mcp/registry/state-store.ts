import type { Pool, PoolClient } from 'pg'
import type { McpTool } from '../../../contract/mcp.ts'
import { transaction } from '../../db/connect.ts'

export type Era = 'modern' | 'legacy'

/** What the last check of a server has found. */
export interface ServerState {
  readonly server_id: string
  readonly url: string
  readonly status: 'healthy' | 'unhealthy'
  readonly last_checked_at: Date
  readonly last_error: string | null
  readonly era: Era | null
  readonly protocol_version: string | null
  /** The accepted tool list. */
  readonly tools: readonly McpTool[] | null
  readonly tools_hash: string | null
  /** A changed list that waits for acceptance. */
  readonly pending_tools: readonly McpTool[] | null
  readonly pending_tools_hash: string | null
}

/** A server at one address. A state of another address does not apply to it. */
interface Place {
  readonly server_id: string
  readonly url: string
}

interface Check {
  readonly status: ServerState['status']
  readonly error: string | null
  /** Undefined keeps the stored values. */
  readonly found?: { readonly era: Era; readonly protocolVersion: string }
}

const columns = `server_id, url, status, last_checked_at, last_error, era, protocol_version, tools, tools_hash, pending_tools,
  pending_tools_hash`

/** Table `mcp_server_states`. */
export type McpStateStore = ReturnType<typeof mcpStateStore>

export function mcpStateStore(pool: Pool) {
  return {
    transaction: <T>(work: (client: PoolClient) => Promise<T>): Promise<T> => transaction(pool, work),

    /** Returns the states without their tool lists. */
    async list(): Promise<ServerState[]> {
      const text = `
        select server_id, url, status, last_checked_at, last_error, era, protocol_version, null as tools, tools_hash,
               null as pending_tools, pending_tools_hash from mcp_server_states`
      return (await pool.query<ServerState>(text)).rows
    },

    async find({ server_id, url }: Place, on: Pool | PoolClient = pool): Promise<ServerState | undefined> {
      const text = `select ${columns} from mcp_server_states where server_id = $1 and url = $2`
      return (await on.query<ServerState>(text, [server_id, url])).rows[0]
    },

    async byId(serverId: string): Promise<ServerState | undefined> {
      const text = `select ${columns} from mcp_server_states where server_id = $1`
      return (await pool.query<ServerState>(text, [serverId])).rows[0]
    },

    /** Returns the hash of the accepted tool list. */
    async acceptedHash({ server_id, url }: Place): Promise<string | null> {
      const text = 'select tools_hash from mcp_server_states where server_id = $1 and url = $2'
      const { rows } = await pool.query<Pick<ServerState, 'tools_hash'>>(text, [server_id, url])
      return rows[0]?.tools_hash ?? null
    },

    /** Stores the result of a check. The first check of another address drops the tool lists of the previous one. */
    async record({ server_id, url }: Place, { status, error, found }: Check): Promise<void> {
      const text = `
        insert into mcp_server_states as s (server_id, url, status, last_checked_at, last_error, era, protocol_version)
        values ($1, $2, $3, clock_timestamp(), $4, $5, $6)
        on conflict (server_id) do update set
          url = excluded.url, status = excluded.status, last_checked_at = excluded.last_checked_at,
          last_error = excluded.last_error,
          era = case when s.url = excluded.url then coalesce(excluded.era, s.era) else excluded.era end,
          protocol_version = case when s.url = excluded.url then coalesce(excluded.protocol_version, s.protocol_version)
                                  else excluded.protocol_version end,
          tools = case when s.url = excluded.url then s.tools end,
          tools_hash = case when s.url = excluded.url then s.tools_hash end,
          pending_tools = case when s.url = excluded.url then s.pending_tools end,
          pending_tools_hash = case when s.url = excluded.url then s.pending_tools_hash end`
      const values = [server_id, url, status, error, found?.era ?? null, found?.protocolVersion ?? null]
      await pool.query(text, values)
    },

    /** Accepts the first list of a server; a list that differs from the accepted one waits. */
    async offerTools({ server_id, url }: Place, tools: readonly McpTool[], hash: string): Promise<void> {
      const text = `
        update mcp_server_states set
          tools = coalesce(tools, $3), tools_hash = coalesce(tools_hash, $4),
          pending_tools = case when coalesce(tools_hash, $4) <> $4 then $3::json end,
          pending_tools_hash = case when coalesce(tools_hash, $4) <> $4 then $4 end
        where server_id = $1 and url = $2 and (tools_hash is distinct from $4 or pending_tools_hash is not null)
          and pending_tools_hash is distinct from $4`
      await pool.query(text, [server_id, url, JSON.stringify(tools), hash])
    },

    /** Accepts the waiting list; returns false when none waits, or another one than `hash` names. */
    async accept(client: PoolClient, { server_id, url }: Place, hash?: string): Promise<boolean> {
      const text = `
        update mcp_server_states set tools = pending_tools, tools_hash = pending_tools_hash, pending_tools = null,
          pending_tools_hash = null
        where server_id = $1 and url = $2 and pending_tools_hash is not null
          and ($3::text is null or pending_tools_hash = $3)`
      return (await client.query(text, [server_id, url, hash ?? null])).rowCount === 1
    },
  }
}
