import type { FastifyInstance } from 'fastify'
import { apiVersion } from '../../contract/api.ts'
import { systemRoutes } from '../../contract/system.ts'
import type { Config } from '../config/config.ts'
import { inForce } from '../config/watch.ts'
import { bind } from '../http/bind.ts'
import { rejectNarrow } from '../http/reach.ts'
import type { Keyring } from '../platform/encryption.ts'
import type { ReplicaStore } from './replica-store.ts'
import { settingList } from './setting-list.ts'

interface Deps {
  /** The configuration of the start. */
  readonly config: Config
  /** The one that was read last; it applies where the service reloads. */
  readonly reloaded: () => Config
  readonly keyring: Pick<Keyring, 'currentId' | 'ids'>
  readonly store: Pick<ReplicaStore, 'alive' | 'database'>
  /** Replica id of this process. */
  readonly owner: string
  readonly sandboxDriver: string
}

const maxWarnings = 100

/** Serves the configuration in force, without secrets. */
export function serveSettings(
  app: FastifyInstance,
  { config, reloaded, keyring, store, owner, sandboxDriver }: Deps,
): void {
  bind(app, systemRoutes.settings, async (_input, caller) => {
    rejectNarrow({ caller })
    const [replicas, database] = await Promise.all([store.alive(owner), store.database()])
    const uptimeMs = Math.round(process.uptime() * 1000)
    return {
      version: apiVersion,
      node_version: process.version,
      started_at: new Date(Date.now() - uptimeMs).toISOString(),
      uptime_ms: uptimeMs,
      config_file: config.file ?? null,
      warnings: config.warnings.slice(0, maxWarnings),
      database: {
        // Processes of one machine get the address of the embedded database from their parent.
        mode: config.sources.environment.includes('DATABASE_URL') ? ('external' as const) : ('embedded' as const),
        ...database,
      },
      encryption: { current_key_id: keyring.currentId, key_ids: [...keyring.ids] },
      sandbox_driver: sandboxDriver,
      replica_id: owner,
      replicas: replicas.map(({ id, seen_at }) => ({ id, seen_at: seen_at?.toISOString() ?? null })),
      settings: settingList(inForce(config, reloaded())),
    }
  })
}
