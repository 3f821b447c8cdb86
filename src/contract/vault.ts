import { type Static, Type } from 'typebox'
import { named } from './named.ts'
import { route } from './route.ts'
import { NextCursor, Nullable, pageQuery } from './schemas.ts'

export const VaultScope = named(
  'VaultScope',
  Type.Union([Type.Literal('global'), Type.Literal('owner')], {
    description: '`owner`: for the agents of the caller; `global`: for all agents, admins only',
  }),
)
export type VaultScope = Static<typeof VaultScope>

/** Name of an entry. */
export const VaultKey = Type.String({
  pattern: '^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,199}$',
  description: '1 to 200 letters, digits, `_`, `-` and `.`; must not begin with `.`',
})

/** What reads an entry by its name. */
export const VaultUse = named(
  'VaultUse',
  Type.Object({
    kind: Type.Union([
      Type.Literal('agent'),
      Type.Literal('mcp_server'),
      Type.Literal('git_host'),
      Type.Literal('log_sink'),
    ]),
    id: Type.String({ description: 'Id of the agent or of the MCP server, the host, or the name of the log sink' }),
    name: Type.String(),
    field: Type.String({ description: 'Setting that names the entry, such as `config.webhook.secret_key`' }),
  }),
)
export type VaultUse = Static<typeof VaultUse>

/** Entry without its value, which no route returns. */
export const VaultEntry = named(
  'VaultEntry',
  Type.Object({
    key: Type.String(),
    scope: VaultScope,
    created_at: Type.String({ format: 'date-time' }),
    updated_at: Type.String({ format: 'date-time' }),
    last_used_at: Nullable(
      Type.String({ format: 'date-time' }),
      'Exact to a minute; null: not since this was recorded',
    ),
    used_by: Type.Array(VaultUse, {
      description:
        'What stops working without the entry, at most 20: webhooks, replies and networks of agents, MCP servers, git hosts, log sinks',
    }),
    used_by_count: Type.Integer(),
  }),
)
export type VaultEntry = Static<typeof VaultEntry>

export const maxVaultValueBytes = 65_536

const VaultWrite = named(
  'VaultWrite',
  Type.Object({
    key: VaultKey,
    value: Type.String({ minLength: 1, maxLength: maxVaultValueBytes, description: 'At most 64 KB in UTF-8' }),
    scope: Type.Optional(VaultScope),
  }),
)

const Done = Type.Object({ ok: Type.Literal(true) })
const base = { access: 'key', errorShape: 'nested' } as const

export const vaultRoutes = {
  list: route({
    ...base,
    id: 'vault.list',
    method: 'GET',
    path: '/api/vault',
    query: Type.Object({ ...pageQuery }),
    responses: { 200: Type.Object({ keys: Type.Array(VaultEntry), next_cursor: NextCursor }) },
    summary: 'List vault entries',
    description:
      'Lists the names of the caller’s entries, for admins also the global ones, with what uses them. Values are never returned.',
  }),
  get: route({
    ...base,
    id: 'vault.get',
    method: 'GET',
    path: '/api/vault/{key}',
    params: Type.Object({ key: VaultKey }),
    query: Type.Object({ scope: Type.Optional(VaultScope) }),
    responses: { 200: VaultEntry },
    summary: 'Read a vault entry without its value',
    description:
      'Returns when an entry was used last and what uses it, to see what its deletion breaks. Without `scope` the caller’s own entry, else for admins the global one.',
  }),
  set: route({
    ...base,
    id: 'vault.set',
    method: 'POST',
    path: '/api/vault',
    body: VaultWrite,
    responses: { 200: Done },
    summary: 'Store a vault entry',
    description:
      'Stores or replaces a secret encrypted. Without `scope` it is global for admins and the caller’s own for others.',
  }),
  remove: route({
    ...base,
    id: 'vault.remove',
    method: 'DELETE',
    path: '/api/vault/{key}',
    params: Type.Object({ key: VaultKey }),
    query: Type.Object({ scope: Type.Optional(VaultScope) }),
    responses: { 200: Done },
    summary: 'Delete a vault entry',
    description: 'Deletes a secret. Without `scope` the caller’s own entry, else for admins the global one.',
  }),
}
