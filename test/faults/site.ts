import { chmod, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { foldersOf } from '../../src/server/db/embedded/folders.ts'
import { freePort } from '../support/service/free-port.ts'
import { type Service, type ServiceOptions, startService } from '../support/service/service.ts'
import type { Bench } from './fault-case.ts'
import type { Upstream } from './upstream.ts'

/** A place where one service can be started again and again: same port, same data, same database. */
export interface Site {
  readonly url: string
  readonly key: string
  readonly dataDir: string
  /** For reading the database from outside. */
  readonly databaseUrl: string
  /** The process that runs now; undefined between two. */
  readonly service: Service | undefined
  start(options?: Pick<ServiceOptions, 'readyMs' | 'env'>): Promise<Service>
  /** Starts it and kills it `afterMs` later, wherever it is by then. The milliseconds until it was ready, if it was. */
  startAndKill(afterMs: number): Promise<number | undefined>
  kill(): Promise<void>
  /** What every process of this place wrote. */
  logs(): string
}

export interface SiteOptions {
  readonly upstream: Pick<Upstream, 'url' | 'port'>
  /** `embedded`: a database in the data folder. */
  readonly database: 'embedded' | (string & {})
  readonly maxSessions?: number
  /** Shared by replicas of one service; its own by default. */
  readonly dataDir?: string
  readonly env?: ServiceOptions['env']
  readonly launcher?: string
  /** Parameters of the model besides its address. */
  readonly model?: object
  /** The configuration's `limits` besides the number of sessions. */
  readonly limits?: object
}

const key = 'sk-faults-master-key-0123456789'

/** Prepares a place and does not start anything. What runs there ends with the case. */
export async function createSite(bench: Bench, options: SiteOptions): Promise<Site> {
  const { maxSessions = 20 } = options
  const isEmbedded = options.database === 'embedded'
  const dataDir = options.dataDir ?? join(bench.folder, `data-${bench.random.whole(0, 0xffffff).toString(16)}`)
  await mkdir(dataDir, { recursive: true })
  await chmod(dataDir, 0o711)
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const past: (() => string)[] = []
  let service: Service | undefined
  bench.defer(() => service?.kill())

  const start: Site['start'] = async ({ readyMs, env = {} } = {}) => {
    service = await startService({
      key,
      port,
      dataDir,
      databaseUrl: isEmbedded ? '' : options.database,
      config: configFor(options, maxSessions),
      env: { ...(isEmbedded && { DATABASE_URL: undefined }), ...options.env, ...env },
      ...(readyMs !== undefined && { readyMs }),
      ...(options.launcher !== undefined && { launcher: options.launcher }),
    })
    past.push(service.logs)
    return service
  }
  const kill = async () => {
    await service?.kill()
    service = undefined
  }
  return {
    url,
    key,
    dataDir,
    databaseUrl: isEmbedded ? embeddedUrl(dataDir) : options.database,
    get service() {
      return service
    },
    start,
    kill,
    async startAndKill(afterMs) {
      const startedAt = performance.now()
      try {
        await start({ readyMs: afterMs })
      } catch (error) {
        if (error instanceof Error && error.message.includes('was not ready within')) return undefined
        throw error
      }
      const readyMs = performance.now() - startedAt
      await sleep(Math.max(0, afterMs - readyMs))
      await kill()
      return readyMs
    },
    logs: () => past.map(logs => logs()).join('\n'),
  }
}

function configFor({ upstream, model, limits }: SiteOptions, maxSessions: number): string {
  const params = { model: 'anthropic/scripted', api_base: upstream.url, api_key: 'sk-upstream', ...model }
  return JSON.stringify({
    model_list: [{ model_name: 'scripted', params }],
    outbound: { allow: [`127.0.0.1:${upstream.port}`] },
    limits: { max_sessions: maxSessions, ...limits },
  })
}

/** As the service itself reaches it. */
function embeddedUrl(dataDir: string): string {
  const query = new URLSearchParams({ host: foldersOf(dataDir).socket, port: '5432', sslmode: 'disable' })
  return `postgres://switchyard@localhost/switchyard?${query}`
}
