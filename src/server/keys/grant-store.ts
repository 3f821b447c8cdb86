import type { Pool } from 'pg'
import type { CacheSettings, KeyRole, LogBodies, McpToolLists } from '../../contract/keys.ts'
import type { NativeProvider } from '../../contract/native.ts'

/** Access that a key grants. */
export interface KeyGrant {
  readonly id: string
  readonly ancestors: readonly string[]
  readonly owner_id: string | null
  readonly role: KeyRole
  readonly user_id: string | null
  readonly user_owner_id: string | null
  readonly is_sign_in: boolean
  /** Models that the team of the key allows, empty for all; null without a team. */
  readonly team_models: readonly string[] | null
  readonly models: readonly string[]
  readonly passthrough: readonly NativeProvider[]
  readonly mcp_servers: readonly string[] | null
  readonly mcp_tools: McpToolLists | null
  readonly cache: CacheSettings | null
  readonly log_bodies: LogBodies | null
  /** True if the key, an ancestor or its team has a budget or a rate limit. */
  readonly is_limited: boolean
  /**
   * True if the key, an ancestor or, unless its user is an admin, its team has an owner, a list of models, MCP servers or tools, a
   * budget or a rate limit.
   */
  readonly is_narrow: boolean
  readonly expires: boolean
  /** Remaining validity in ms; null if it does not expire. */
  readonly rest_ms: number | null
}

/** A key that works, with the owner and the role that apply to it. */
export type ValidKey = Pick<KeyGrant, 'id' | 'owner_id' | 'role'>

/** SQL of the owner and the role that apply to key `k`, which its user limits. */
export const actualOwner = 'owner_of_key(k.owner_id, k.user_id, k.team_id)'
export const actualRole = 'role_of_key(k.role, k.user_id)'

/** SQL that is true for keys that work, apart from their expiry. */
const inForce = 'k.revoked_at is null and is_key_in_force(k.team_id, k.user_id)'

const hasLimit = 'num_nonnulls(b.max_usd, b.soft_usd, b.rpm_limit, b.tpm_limit, b.max_parallel) > 0'
const hasHardLimit = 'num_nonnulls(b.max_usd, b.rpm_limit, b.tpm_limit, b.max_parallel) > 0'

/** SQL that is true if the key or an ancestor meets a condition on its row `a` and its budget `b`. */
const isAnyInLineage = (condition: string): string => `
  exists (select from api_keys a join budgets b on b.scope = 'key' and b.scope_id = a.id
          where a.id = any (k.id || k.ancestors) and (${condition}))`

/** SQL that is true if the budget `b` of the team that pays, `payer`, meets a condition. */
const isOfTeam = (condition: string): string => `
  exists (select from budgets b where b.scope = 'team' and b.scope_id = payer.id and (${condition}))`

/** SQL that is true if the team that pays limits the key. It limits the calls of an admin, but not the rights. */
const isNarrowByTeam = `
  (u.role is distinct from 'admin' and (coalesce(json_array_length(payer.models), 0) > 0 or ${isOfTeam(hasHardLimit)}))`

const grant = (validUntil: string): string => `
  select k.id, k.ancestors, ${actualOwner} as owner_id, ${actualRole} as role, k.user_id, u.owner_id as user_owner_id, k.is_sign_in, payer.models as team_models,
         k.models, k.passthrough, k.mcp_servers, k.mcp_tools, k.cache, k.log_bodies, k.expires_at is not null as expires,
         ${isAnyInLineage(hasLimit)} or ${isOfTeam(hasLimit)} as is_limited,
         ${isAnyInLineage(`a.owner_id is not null or json_array_length(a.models) > 0 or num_nonnulls(a.mcp_servers, a.mcp_tools) > 0
           or ${hasHardLimit}`)} or ${isNarrowByTeam} as is_narrow,
         (extract(epoch from ${validUntil} - clock_timestamp()) * 1000)::double precision as rest_ms
  from api_keys k left join users u on u.id = k.user_id
    left join teams payer on payer.id = team_of_key(k.team_id, k.user_id)`

const byHashText = `
  select found.*, given.place
  from unnest($1::bytea[]) with ordinality as given (hash, place)
  join lateral (
    ${grant('least(k.expires_at, h.valid_until)')} join api_key_hashes h on h.key_id = k.id
    where h.hash = given.hash and ${inForce}
  ) found on true`

const byIdText = `${grant('k.expires_at')} where k.id = $1 and ${inForce}`

/** Reads what keys grant, from the tables of keys, users, teams and budgets. */
export const grantStore = (pool: Pool) => ({
  /** Returns the grants of keys in the order of their hashes, including expired ones. */
  async grantsOfHashes(hashes: readonly Buffer[]): Promise<(KeyGrant | undefined)[]> {
    const query = { name: 'grants_of_hashes', text: byHashText, values: [hashes] }
    const { rows } = await pool.query<KeyGrant & { readonly place: number }>(query)
    const grants = new Map(rows.map(({ place, ...grant }) => [place, grant]))
    return hashes.map((_, at) => grants.get(at + 1))
  },

  async grantOfId(id: string): Promise<KeyGrant | undefined> {
    const { rows } = await pool.query<KeyGrant>({ name: 'grant_of_id', text: byIdText, values: [id] })
    return rows[0]
  },

  /** Returns those of the keys that work and have not expired. */
  async valid(ids: readonly string[]): Promise<ValidKey[]> {
    const text = `
      select k.id, ${actualOwner} as owner_id, ${actualRole} as role from api_keys k
      where k.id = any ($1) and is_key_valid(k.id)`
    return (await pool.query<ValidKey>(text, [ids])).rows
  },
})
