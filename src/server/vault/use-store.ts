import type { Pool } from 'pg'
import type { VaultUse } from '../../contract/vault.ts'
import type { EntryName } from './store.ts'

/** Uses of one entry: the first ones, and how many there are. */
export interface Uses {
  readonly uses: readonly VaultUse[]
  readonly count: number
}

interface UseRow extends EntryName, VaultUse {
  readonly count: number
}

const shown = 20

/** An agent without an entry of its owner reads the global one. */
const text = `
  with entries as (select * from unnest($1::text[], $2::text[]) as entry (owner_id, key)),
  agent_names as (
    select a.id, a.name, a.owner_id, ref.field, ref.key from agents a cross join lateral (
      select 'config.webhook.secret_key' as field,
             coalesce(a.config -> 'webhook' ->> 'secret_key', 'WEBHOOK_' || a.id || '_SECRET') as key
      union all select 'config.webhook.signature.secret_key', a.config -> 'webhook' -> 'signature' ->> 'secret_key'
      union all select 'config.webhook.reply.secret_key', a.config -> 'webhook' -> 'reply' ->> 'secret_key'
      union all select 'config.network.secrets', secret ->> 'vault_key' from json_array_elements(
        case when json_typeof(a.config -> 'network' -> 'secrets') = 'array' then a.config -> 'network' -> 'secrets' else '[]'::json end
      ) secret where json_typeof(secret) = 'object'
    ) ref where ref.key = any ($2)
  ), uses as (
    select e.owner_id, e.key, 'agent' as kind, n.id, n.name, n.field from entries e join agent_names n on n.key = e.key
    where n.owner_id = e.owner_id or e.owner_id = '' and not exists (
      select from vault_entries v where v.owner_id = n.owner_id and v.key = e.key)
    union all
    select e.owner_id, e.key, 'mcp_server', m.server_id, m.server_name, 'vault_key' from entries e
    join mcp_servers m on m.vault_key = e.key where e.owner_id = ''
  )
  select * from (
    select uses.*, count(*) over of_entry::int as count, row_number() over (of_entry order by kind, id, field) as place
    from uses window of_entry as (partition by owner_id, key)
  ) numbered where place <= ${shown} order by place`

/** Agents and MCP servers that name entries of the vault. */
export type UseStore = ReturnType<typeof useStore>

export function useStore(pool: Pool) {
  return {
    /** Returns the uses of each of these entries, in the same order. */
    async of(entries: readonly EntryName[]): Promise<Uses[]> {
      const values = [entries.map(({ owner_id }) => owner_id), entries.map(({ key }) => key)]
      const { rows } = await pool.query<UseRow>(text, values)
      return entries.map(entry => {
        const own = rows.filter(({ owner_id, key }) => owner_id === entry.owner_id && key === entry.key)
        return { uses: own.map(({ kind, id, name, field }) => ({ kind, id, name, field })), count: own[0]?.count ?? 0 }
      })
    },
  }
}
