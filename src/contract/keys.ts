import { type Static, Type } from 'typebox'
import { named } from './named.ts'
import { NativeProvider } from './native.ts'
import { route } from './route.ts'
import { BudgetDuration, DateTime, JsonObject, Name, NextCursor, Nullable, pageQuery, Usd } from './schemas.ts'

export const KeyRole = named(
  'KeyRole',
  Type.Union([Type.Literal('user'), Type.Literal('admin'), Type.Literal('viewer')], {
    description: '`viewer` may only read; `admin` may also change keys, models and users',
  }),
)
export type KeyRole = Static<typeof KeyRole>

const ShownTime = Type.String({ format: 'date-time' })
const limits = { minimum: 1, maximum: 2_147_483_647 } as const
const Count = Type.Integer(limits)

/** Response cache: identical requests get the cached answer. */
export const CacheSettings = named(
  'CacheSettings',
  Type.Object({
    ttl: Type.String({
      pattern: '^[1-9][0-9]{0,6}(s|m|h|d)$',
      description: 'Lifetime of a cached answer: a number and s, m, h or d, from `1s` to `30d`',
    }),
  }),
)
export type CacheSettings = Static<typeof CacheSettings>
/** Recording of the bodies of calls. */
export const LogBodies = named(
  'LogBodies',
  Type.Object({
    until: Type.String({ format: 'date-time', description: 'End of recording, at most 90 days from now' }),
  }),
)
export type LogBodies = Static<typeof LogBodies>

const McpName = Type.String({ minLength: 1, maxLength: 200 })

/** By MCP server (id, name or alias): the tools that a key may call. Servers that are not listed are not restricted. */
const McpToolLists = named('McpToolLists', Type.Record(Type.String(), Type.Array(McpName, { maxItems: 500 })))
export type McpToolLists = Static<typeof McpToolLists>

/** A virtual key without its secret. Interface: Gateway API key record; Gaps: section 3. */
export const ApiKey = named(
  'ApiKey',
  Type.Object({
    id: Type.String(),
    parent_id: Nullable(
      Type.String({
        description: 'Key that created this one. Its budgets limit this key too, and revoking it revokes this key',
      }),
    ),
    label: Type.String(),
    owner_id: Nullable(Type.String({ description: 'Owner whose objects the key sees; null: all owners' })),
    user_id: Nullable(
      Type.String({ description: 'User or service account of the key, whose role limits that of the key' }),
    ),
    team_id: Nullable(
      Type.String({
        description: 'Team that pays and whose models apply; null with `user_id`: the team that the user joined first',
      }),
    ),
    is_sign_in: Type.Boolean({ description: 'True for the key behind the console sign-ins of a user' }),
    role: KeyRole,
    models: Type.Array(Type.String(), { description: 'Allowed models: names or `provider/*`; empty: all' }),
    passthrough: Type.Array(NativeProvider, {
      description: 'Providers whose own API the key may call below `/<provider>/`; empty: none',
    }),
    mcp_servers: Nullable(Type.Array(Type.String()), 'MCP servers that the key may use; null: all'),
    mcp_tools: Nullable(McpToolLists, 'Tools of MCP servers that the key may call; null: all'),
    cache: Nullable(CacheSettings, 'Response cache for calls of the key; null: the setting of the model applies'),
    log_bodies: Nullable(LogBodies, 'Recording of the bodies of its calls; null: off'),
    max_budget: Nullable(Type.Number({ description: 'US dollars per period' })),
    soft_budget: Nullable(Type.Number({ description: 'US dollars; from this amount on, answers carry a warning' })),
    budget_duration: Nullable(Type.String({ description: 'null: the budget never resets' })),
    budget_reset_at: Nullable(ShownTime),
    spend: Type.Number({ description: 'US dollars spent in this period' }),
    reserved: Type.Number({ description: 'US dollars reserved for calls in flight' }),
    rpm_limit: Nullable(Type.Integer()),
    tpm_limit: Nullable(Type.Integer()),
    max_parallel_requests: Nullable(Type.Integer()),
    metadata: JsonObject,
    prefix: Type.String({ description: 'First characters of the key' }),
    last4: Type.String({ description: 'Last four characters of the key' }),
    created_at: ShownTime,
    created_by: Type.String({ description: 'Principal' }),
    last_used_at: Nullable(ShownTime),
    expires_at: Nullable(ShownTime),
    revoked_at: Nullable(ShownTime),
  }),
)
export type ApiKey = Static<typeof ApiKey>

/** Response that contains the key. Only the requests that create and rotate a key return it. */
export const ShownApiKey = named(
  'ShownApiKey',
  Type.Object({
    ...ApiKey.properties,
    key: Type.String({ description: 'Not stored and never shown again' }),
  }),
)
export type ShownApiKey = Static<typeof ShownApiKey>

/** Body of create and update. Absent means unchanged, or the default of a new key; null clears. */
export const ApiKeyWrite = named(
  'ApiKeyWrite',
  Type.Object({
    label: Type.Optional(Type.String({ maxLength: 200 })),
    owner_id: Type.Optional(Nullable(Name)),
    user_id: Type.Optional(
      Nullable(Name, 'The key stops while this user or service account is disabled, and sees only its objects'),
    ),
    team_id: Type.Optional(Nullable(Name, 'A team of `user_id`, or any team for a key without a user')),
    role: Type.Optional(KeyRole),
    models: Type.Optional(
      Nullable(Type.Array(Type.String({ minLength: 1, maxLength: 200, pattern: '\\S' }), { maxItems: 500 })),
    ),
    passthrough: Type.Optional(Nullable(Type.Array(NativeProvider, { maxItems: 10 }))),
    mcp_servers: Type.Optional(Nullable(Type.Array(McpName, { maxItems: 500 }), 'Ids, names or aliases; null: all')),
    mcp_tools: Type.Optional(Nullable(McpToolLists)),
    cache: Type.Optional(Nullable(CacheSettings)),
    log_bodies: Type.Optional(Nullable(LogBodies)),
    max_budget: Type.Optional(Nullable(Usd)),
    soft_budget: Type.Optional(Nullable(Usd)),
    budget_duration: Type.Optional(Nullable(BudgetDuration)),
    rpm_limit: Type.Optional(Nullable(Count)),
    tpm_limit: Type.Optional(Nullable(Type.Integer({ ...limits, maximum: 1e12 }))),
    max_parallel_requests: Type.Optional(Nullable(Count)),
    expires_at: Type.Optional(Nullable(DateTime)),
    duration: Type.Optional(
      Type.String({
        pattern: '^[1-9][0-9]{0,3}(s|m|h|d|w|mo)$',
        description:
          'Lifetime from now on, instead of `expires_at`: a number and s, m, h, d, w or mo (months), such as `90d`',
      }),
    ),
    metadata: Type.Optional(Nullable(JsonObject)),
  }),
)
export type ApiKeyWrite = Static<typeof ApiKeyWrite>

/** Returns whether a list of models covers `name`, a model or `provider/*`. An empty list covers all. */
export const coversModel = (models: readonly string[], name: string): boolean =>
  models.length === 0 ||
  models.some(entry => entry === name || (entry.endsWith('*') && name.startsWith(entry.slice(0, -1))))

const KeyPath = Type.Object({ key_id: Type.String() })
const base = { access: 'admin', errorShape: 'nested' } as const

export const keyRoutes = {
  list: route({
    ...base,
    id: 'keys.list',
    method: 'GET',
    path: '/api/keys',
    query: Type.Object({
      ...pageQuery,
      owner_id: Type.Optional(Type.String({ maxLength: 200 })),
      user_id: Type.Optional(Type.String({ maxLength: 200, description: 'Only keys of this user' })),
      team_id: Type.Optional(Type.String({ maxLength: 200, description: 'Only keys with this `team_id`' })),
      parent_id: Type.Optional(
        Type.String({ maxLength: 200, description: 'Only keys that this key created, without their own' }),
      ),
      q: Type.Optional(
        Type.String({
          maxLength: 256,
          description: 'Only keys whose label contains this text in any case, or with this id, prefix or `last4`',
        }),
      ),
      include_revoked: Type.Optional(Type.Boolean({ description: 'Includes revoked keys' })),
    }),
    responses: { 200: Type.Object({ keys: Type.Array(ApiKey), next_cursor: NextCursor }) },
    summary: 'List keys',
    description: 'Lists virtual keys, newest first. An admin key with limits lists its descendants.',
  }),
  create: route({
    ...base,
    id: 'keys.create',
    unknownFields: 'reported',
    method: 'POST',
    path: '/api/keys',
    body: ApiKeyWrite,
    bodyOptional: true,
    responses: { 201: ShownApiKey },
    summary: 'Create a key',
    description:
      'Creates a virtual key. The answer shows the key once: the service stores only a hash of it. Accepts `Idempotency-Key`.',
  }),
  get: route({
    ...base,
    id: 'keys.get',
    method: 'GET',
    path: '/api/keys/{key_id}',
    params: KeyPath,
    responses: { 200: ApiKey },
    summary: 'Read a key',
    description: 'Returns the settings of a virtual key, also after it was revoked. The key itself is never shown.',
  }),
  update: route({
    ...base,
    id: 'keys.update',
    method: 'PATCH',
    path: '/api/keys/{key_id}',
    params: KeyPath,
    body: ApiKeyWrite,
    responses: { 200: ApiKey },
    summary: 'Update a key',
    description: 'Changes the settings of a virtual key. Absent fields stay unchanged; null clears.',
  }),
  rotate: route({
    ...base,
    id: 'keys.rotate',
    method: 'POST',
    path: '/api/keys/{key_id}/rotate',
    params: KeyPath,
    body: Type.Object({
      grace: Type.Optional(
        Type.String({
          pattern: '^(0|[1-9][0-9]{0,3})(s|m|h|d|w|mo)$',
          description: 'Grace period of the old key, such as `24h`; none by default',
        }),
      ),
    }),
    bodyOptional: true,
    responses: { 200: ShownApiKey },
    summary: 'Rotate a key',
    description:
      'Gives a virtual key a new secret, shown once. The old one works during the grace period. Accepts `Idempotency-Key`.',
  }),
  remove: route({
    ...base,
    id: 'keys.remove',
    method: 'DELETE',
    path: '/api/keys/{key_id}',
    params: KeyPath,
    responses: { 204: null },
    summary: 'Revoke a key',
    description: 'Revokes a virtual key and its descendants for good. Repeating the request succeeds.',
  }),
}
