import { type Static, Type } from 'typebox'
import { named } from './named.ts'
import { route } from './route.ts'
import { DateTime, Nullable } from './schemas.ts'

/** A setting in force. Of a secret only whether it is set. */
export const Setting = named(
  'Setting',
  Type.Object({
    name: Type.String({ description: 'Path in the configuration file, or the environment variable' }),
    value: Type.Unknown({
      description: 'null when it is not set, and for secrets; of lists with secrets only the names',
    }),
    source: Type.Union(
      [Type.Literal('file'), Type.Literal('environment'), Type.Literal('option'), Type.Literal('default')],
      { description: '`option`: an option of the command line' },
    ),
    is_secret: Type.Boolean(),
    is_set: Type.Boolean(),
  }),
)
export type Setting = Static<typeof Setting>

/** Configuration and state of the service, without any secret. */
export const ServiceSettings = named(
  'ServiceSettings',
  Type.Object({
    version: Type.String(),
    node_version: Type.String(),
    started_at: DateTime,
    uptime_ms: Type.Integer({ description: 'Of the process that responds' }),
    config_file: Nullable(Type.String({ description: 'Path on the server' })),
    warnings: Type.Array(Type.String(), { description: 'At most 100 warnings about the configuration at the start' }),
    database: Type.Object({
      mode: Type.Union([Type.Literal('embedded'), Type.Literal('external')]),
      version: Type.String({ description: 'Version of PostgreSQL' }),
      last_migration: Nullable(Type.String()),
    }),
    encryption: Type.Object({
      current_key_id: Type.String({ description: 'Id of the key that encrypts; does not reveal the key' }),
      key_ids: Type.Array(Type.String(), { description: 'Ids of all keys that decrypt' }),
    }),
    sandbox_driver: Type.String(),
    replica_id: Type.String({ description: 'Of the process that responds' }),
    replicas: Type.Array(Type.Object({ id: Type.String(), seen_at: Nullable(DateTime) }), {
      description: 'Processes that serve this database now, at most 100',
    }),
    settings: Type.Array(Setting),
  }),
)
export type ServiceSettings = Static<typeof ServiceSettings>

export const settingsRoute = route({
  id: 'system.settings',
  method: 'GET',
  path: '/api/settings',
  access: 'admin',
  errorShape: 'nested',
  responses: { 200: ServiceSettings },
  summary: 'Read the configuration in force',
  description:
    'Returns the settings of this process with the source of each, and the state of the database, the encryption keys and the replicas, for diagnostics. Contains no secret: of keys and passwords only whether they are set. Where a changed file is reloaded, its settings are shown; others are those of the start. Answers 403 for limited admin keys.',
})
