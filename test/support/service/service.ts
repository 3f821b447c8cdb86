import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { checkedService, isContractChecked } from '../contract/contract-tests.ts'
import { freshDatabase } from './database.ts'
import { compileCache, programFile } from './program.ts'

const root = join(import.meta.dirname, '..', '..', '..')

export interface ServiceOptions {
  /** The text of a configuration file. Absent: no file, so the only model is `demo`. */
  readonly config?: string
  /** Variables on top of those that every service under test gets; undefined takes one away. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** Master key; null switches authentication off. */
  readonly key?: string | null
  /** A database of the caller's own, who then has to stop the service. Absent: a fresh one of the test run. */
  readonly databaseUrl?: string
  /** A data folder of the caller's own, which then stays. Absent: a fresh one, removed with the service. */
  readonly dataDir?: string
  /** True: the service builds and serves the console. By default it does not, because a build takes long. */
  readonly hasConsole?: boolean
  /** More arguments of `serve`. */
  readonly args?: readonly string[]
  /** A fixed port, to start again where another process was; a free one by default. */
  readonly port?: number
  /** A shell script whose `exec "$@"` becomes the service, to start it with other limits or with more descriptors. */
  readonly launcher?: string
  /** Root of another tree of this repository, whose program is started; this tree by default. */
  readonly tree?: string
  /** How long to wait until it is ready; 120,000 by default. */
  readonly readyMs?: number
}

/** A service that runs as a real process. */
export interface Service {
  readonly url: string
  /** The master key; empty when authentication is off. */
  readonly key: string
  readonly pid: number
  readonly databaseUrl: string
  readonly dataDir: string
  /** What the process wrote to its outputs so far. */
  logs(): string
  /** Ends it with SIGTERM and waits; its exit code. Repeating it is harmless. */
  stop(): Promise<number | null>
  /** Ends it without a chance to clean up, and waits. */
  kill(): Promise<void>
}

/**
 * Starts the service and waits until it is ready. Without `databaseUrl` it stops by itself after the last test of the
 * file (or of the test that called); in any case it does not outlive the process that started it.
 */
export async function startService(options: ServiceOptions = {}): Promise<Service> {
  let stop = async () => {}
  // Registered before the database is made, so that it stops before the database is dropped.
  if (options.databaseUrl === undefined) after(() => stop())
  const databaseUrl = options.databaseUrl ?? (await freshDatabase()).url
  const dataDir = options.dataDir ?? (await temporaryDataDir())
  const key = options.key === undefined ? 'sk-test-master-key-0123456789' : (options.key ?? '')
  const command = [
    process.execPath,
    options.tree === undefined ? programFile : join(options.tree, 'src', 'cli', 'main.ts'),
    'serve',
    ...(options.hasConsole ? [] : ['--no-console']),
    ...(options.args ?? []),
  ]
  const [file = '', ...args] =
    options.launcher === undefined ? command : ['bash', '-c', options.launcher, 'bash', ...command]
  const child = spawn(file, args, {
    cwd: options.tree ?? root,
    env: await environment({ ...options, ...(isContractChecked() && { port: 0 }) }, { databaseUrl, dataDir, key }),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const output = collect(child)
  bindLifetime(child)

  const end = async (signal: NodeJS.Signals) => {
    await ended(child, signal)
    if (options.dataDir === undefined) await rm(dataDir, { recursive: true, force: true, maxRetries: 5 })
  }
  stop = () => end('SIGTERM')
  try {
    const url = await untilReady(child, output, options.readyMs ?? 120_000)
    const service: Service = {
      url,
      key,
      pid: child.pid ?? 0,
      databaseUrl,
      dataDir,
      logs: output,
      stop: async () => {
        await end('SIGTERM')
        return child.exitCode
      },
      kill: () => end('SIGKILL'),
    }
    return isContractChecked() ? await checkedService(service, options.port) : service
  } catch (error) {
    await end('SIGKILL')
    throw error
  }
}

/** Makes a data folder that the user of a sandbox can enter. */
export async function temporaryDataDir(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'switchyard-service-'))
  await chmod(folder, 0o711)
  return folder
}

interface Decided {
  readonly databaseUrl: string
  readonly dataDir: string
  readonly key: string
}

/** A busy machine makes the event loop late, and must not make the service refuse the calls of a test. YAML stays as it is. */
function unhurried(config: string): string {
  if (!config.startsWith('{')) return config
  const { limits, ...others } = JSON.parse(config) as { readonly limits?: object }
  return JSON.stringify({ ...others, limits: { max_loop_delay_ms: 60_000, ...limits } })
}

async function environment({ config, env, port = 0 }: ServiceOptions, { databaseUrl, dataDir, key }: Decided) {
  const file = join(dataDir, 'test-config.yaml')
  if (config !== undefined) await writeFile(file, unhurried(config))
  return {
    PATH: process.env['PATH'],
    NODE_COMPILE_CACHE: compileCache,
    HOME: dataDir,
    HOST: '127.0.0.1',
    PORT: String(port),
    DATABASE_URL: databaseUrl,
    SWITCHYARD_DATA_DIR: dataDir,
    // Replicas with folders of their own share it.
    ...(databaseUrl !== '' && { SWITCHYARD_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64') }),
    LOG_LEVEL: 'info',
    // No load balancer is in front of a service under test.
    SWITCHYARD_DRAIN_DELAY_MS: '0',
    ...(key !== '' && { GATEWAY_MASTER_KEY: key }),
    ...(config !== undefined && { SWITCHYARD_CONFIG: file }),
    ...env,
  }
}

function collect({ stdout, stderr }: ChildProcess): () => string {
  const chunks: Buffer[] = []
  for (const stream of [stdout, stderr]) stream?.on('data', (chunk: Buffer) => chunks.push(chunk))
  return () => Buffer.concat(chunks).toString()
}

/** Neither keeps the other alive: a test that fails half-way still ends, and takes the service along. */
function bindLifetime(child: ChildProcess): void {
  const killNow = () => void child.kill('SIGKILL')
  process.once('exit', killNow)
  child.once('exit', () => process.off('exit', killNow))
  child.unref()
  for (const stream of [child.stdout, child.stderr]) (stream as Socket | null)?.unref()
}

async function ended(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.ref()
  const exit = once(child, 'exit')
  child.kill(signal)
  await exit
}

/** The address that the process names, once it answers there. */
async function untilReady(child: ChildProcess, output: () => string, readyMs: number): Promise<string> {
  const deadline = performance.now() + readyMs
  while (performance.now() < deadline) {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error(`the service ended:\n${output()}`)
    const url = /http:\/\/[\w.-]+:[1-9]\d*/.exec(output())?.[0]
    if (url !== undefined && (await isReady(url))) return url
    await sleep(25)
  }
  throw new Error(`the service was not ready within ${readyMs} ms:\n${output()}`)
}

async function isReady(url: string): Promise<boolean> {
  try {
    return (await fetch(`${url}/health/ready`)).ok
  } catch {
    return false
  }
}
