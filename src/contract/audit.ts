import { type Static, Type } from 'typebox'
import { named } from './named.ts'
import { route } from './route.ts'
import { CsvFormat, JsonObject, NextCursor, Nullable, pageQuery, rangeQuery, Timezone } from './schemas.ts'

/** One recorded change. Security: S55. */
export const AuditEntry = named(
  'AuditEntry',
  Type.Object({
    id: Type.String(),
    created_at: Type.String({ format: 'date-time' }),
    principal: Type.String(),
    role: Type.String(),
    key_id: Nullable(Type.String({ description: 'Virtual key of the caller; null for the master key' })),
    address: Nullable(
      Type.String({ description: 'Address of the client; null for changes made by the service itself' }),
    ),
    request_id: Nullable(Type.String()),
    action: Type.String({ description: 'Object and verb, such as `key.create`' }),
    object_id: Type.String(),
    owner_id: Nullable(Type.String()),
    before: Nullable(JsonObject),
    after: Nullable(JsonObject),
  }),
)
export type AuditEntry = Static<typeof AuditEntry>

const Filter = Type.Optional(Type.String({ minLength: 1, maxLength: 200 }))

export const auditRoutes = {
  list: route({
    id: 'audit.list',
    method: 'GET',
    path: '/api/audit',
    access: 'admin',
    errorShape: 'nested',
    query: Type.Object({
      ...pageQuery,
      ...rangeQuery,
      format: CsvFormat,
      action: Type.Optional(
        Type.String({
          maxLength: 100,
          pattern: '^[a-z_]+[.]([a-z_]+|[*])$',
          description: 'An action such as `key.create`, or `key.*` for all actions on keys',
        }),
      ),
      object_id: Filter,
      principal: Filter,
      key_id: Filter,
      owner_id: Filter,
      request_id: Filter,
      timezone: Timezone,
    }),
    responses: { 200: Type.Object({ entries: Type.Array(AuditEntry), next_cursor: NextCursor }) },
    hasCsv: true,
    summary: 'List audit entries',
    description: 'Lists changes of the configuration with their author, newest first.',
  }),
}
