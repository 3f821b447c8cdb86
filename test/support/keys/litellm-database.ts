import { createHash } from 'node:crypto'
import type { Pool } from 'pg'

/** The tables of LiteLLM that hold keys, with the columns and types that its schema gives them. */
const tables = `
  create table "LiteLLM_BudgetTable" (
    budget_id text primary key, max_budget double precision, soft_budget double precision, max_parallel_requests integer,
    tpm_limit bigint, rpm_limit bigint, model_max_budget jsonb, budget_duration text, budget_reset_at timestamp(3)
  );
  create table "LiteLLM_TeamTable" (
    team_id text primary key, team_alias text, organization_id text, admins text[], members text[],
    members_with_roles jsonb not null default '{}', metadata jsonb not null default '{}', max_budget double precision,
    spend double precision not null default 0, models text[], max_parallel_requests integer, tpm_limit bigint,
    rpm_limit bigint, budget_duration text, budget_reset_at timestamp(3), blocked boolean not null default false
  );
  create table "LiteLLM_UserTable" (
    user_id text primary key, user_alias text, team_id text, password text, teams text[] default '{}', user_role text,
    max_budget double precision, spend double precision not null default 0, user_email text, models text[],
    metadata jsonb not null default '{}', max_parallel_requests integer, tpm_limit bigint, rpm_limit bigint,
    budget_duration text, budget_reset_at timestamp(3)
  );
  create table "LiteLLM_VerificationToken" (
    token text primary key, key_name text, key_alias text, soft_budget_cooldown boolean not null default false,
    spend double precision not null default 0, expires timestamp(3), models text[], aliases jsonb not null default '{}',
    config jsonb not null default '{}', user_id text, team_id text, permissions jsonb not null default '{}',
    max_parallel_requests integer, metadata jsonb not null default '{}', blocked boolean, tpm_limit bigint,
    rpm_limit bigint, max_budget double precision, budget_duration text, budget_reset_at timestamp(3),
    allowed_cache_controls text[] default '{}', allowed_routes text[] default '{}', model_spend jsonb not null default '{}',
    model_max_budget jsonb not null default '{}', budget_id text, organization_id text, created_at timestamp(3) default now()
  );
  create table "LiteLLM_ProxyModelTable" (
    model_id text primary key, model_name text not null, litellm_params jsonb not null, model_info jsonb
  )`

/** Row of a table; absent columns have their defaults. */
export type LiteLlmRow = Readonly<Record<string, unknown>>

/** Makes an empty database look like LiteLLM's. */
export async function createLiteLlmTables(pool: Pool) {
  await pool.query(tables)
  const insert = async (table: string, row: LiteLlmRow): Promise<void> => {
    const names = Object.keys(row)
    const places = names.map((_, at) => `$${at + 1}`)
    await pool.query(
      `insert into "LiteLLM_${table}" (${names.join(', ')}) values (${places.join(', ')})`,
      Object.values(row),
    )
  }
  return {
    insert,
    /** Stores a key as LiteLLM does: its SHA-256 and its last characters. */
    key: (key: string, row: LiteLlmRow = {}) => {
      const token = createHash('sha256').update(key).digest('hex')
      return insert('VerificationToken', { token, key_name: `sk-...${key.slice(-4)}`, ...row })
    },
  }
}
