import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { commandLine, processTree } from './process-figures.ts'
import { bindLifetime } from './program.ts'

const thisTree = join(import.meta.dirname, '..')
const readyMs = 60_000
const lookMs = 5

interface Options {
  /** The embedded database and everything else lies here; made when it is missing. */
  readonly dataDir: string
  /** The text of a configuration file; without one the only model is `demo`. */
  readonly config?: string
  readonly env?: Readonly<Record<string, string>>
  /** The folder of the program; this tree unless given. */
  readonly root?: string
  /** True: it serves the console, which must have been built. By default it does not, so that no build runs beside. */
  readonly hasConsole?: boolean
}

/** The service as an operator starts it, in its own process. */
export interface Server {
  readonly url: string
  readonly key: string
  /** The process that serves; the launchers before it do not count. */
  readonly pid: number
  /** From the command to the first "ready". */
  readonly startMs: number
  /** Ends it in order, as SIGTERM does. */
  stop(): Promise<void>
}

/** Runs `npm start` with a master key and the embedded database, and waits until it is ready. */
export async function startServer({
  dataDir,
  config,
  env,
  root = thisTree,
  hasConsole = false,
}: Options): Promise<Server> {
  await mkdir(dataDir, { recursive: true, mode: 0o711 })
  const file = join(dataDir, 'bench.yaml')
  if (config !== undefined) await writeFile(file, config)
  const key = 'sk-bench-0123456789abcdef'
  const startedAt = performance.now()
  // Older trees do not have the option.
  const options = root === thisTree && !hasConsole ? ['--', '--no-console'] : []
  const child = spawn('npm', ['start', '--silent', ...options], {
    cwd: root,
    env: {
      PATH: process.env['PATH'],
      HOME: dataDir,
      HOST: '127.0.0.1',
      PORT: '0',
      SWITCHYARD_DATA_DIR: dataDir,
      GATEWAY_MASTER_KEY: key,
      ...(config !== undefined && { SWITCHYARD_CONFIG: file }),
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  bindLifetime(child)
  const url = await untilReady(child, outputOf(child))
  const startMs = performance.now() - startedAt
  const pid = servingProcess(child.pid ?? 0)
  // The launchers above it die with this process, and it with them only by its own signal.
  const killServer = () => void process.kill(pid, 'SIGKILL')
  process.once('exit', killServer)
  return {
    url,
    key,
    pid,
    startMs,
    async stop() {
      process.off('exit', killServer)
      const exit = once(child, 'exit')
      process.kill(pid, 'SIGTERM')
      await exit
    },
  }
}

function servingProcess(launcher: number): number {
  const pid = processTree(launcher).findLast(candidate =>
    commandLine(candidate).some(part => part.endsWith('src/cli/main.ts')),
  )
  if (pid === undefined) throw new Error('the process of the server was not found')
  return pid
}

function outputOf({ stdout, stderr }: ChildProcess): () => string {
  const chunks: Buffer[] = []
  for (const stream of [stdout, stderr]) stream?.on('data', (chunk: Buffer) => chunks.push(chunk))
  return () => Buffer.concat(chunks).toString()
}

async function untilReady(child: ChildProcess, output: () => string): Promise<string> {
  const deadline = performance.now() + readyMs
  while (performance.now() < deadline) {
    if (child.exitCode !== null) throw new Error(`the server ended:\n${output()}`)
    const url = /http:\/\/127\.0\.0\.1:[1-9]\d*/.exec(output())?.[0]
    if (url !== undefined && (await isReady(url))) return url
    await sleep(lookMs)
  }
  throw new Error(`the server was not ready within ${readyMs} ms:\n${output()}`)
}

const isReady = (url: string): Promise<boolean> =>
  fetch(`${url}/health/ready`).then(
    ({ ok }) => ok,
    () => false,
  )
