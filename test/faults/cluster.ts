import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Client } from 'pg'

const program = join(import.meta.dirname, '..', 'support', 'service', 'embedded-server.ts')

/** A database server in its own process, which outlives every service that is killed. */
export interface Cluster {
  /** A new, empty database on it. */
  database(): Promise<string>
  /** Stops the server: by a fast shutdown, or by SIGKILL to its first process. Resolves when it has exited. */
  stop(how?: 'clean' | 'kill'): Promise<void>
  /** Pauses all its processes: connections stay open and nothing answers. Calling the result wakes them. */
  freeze(): () => void
  /** Brings it back with all its data, under the same addresses. */
  start(): Promise<void>
}

/** Starts a server on the folder `dataDir`. */
export async function startCluster(dataDir: string): Promise<Cluster> {
  let child = spawnServer(dataDir)
  let url = await urlOf(child)
  let count = 0
  return {
    async database() {
      const name = `fault_${process.pid}_${++count}`
      await asAdmin(url, `create database ${name} owner switchyard`)
      return withDatabase(url, name)
    },
    async stop(how = 'clean') {
      if (child.exitCode !== null || child.signalCode !== null) return
      const server = serverPid(dataDir)
      const gone = once(child, 'exit')
      if (how === 'kill') {
        // The keeper first, since it would start the server again.
        child.kill('SIGKILL')
        process.kill(server, 'SIGKILL')
      } else child.kill('SIGTERM')
      await gone
    },
    freeze() {
      const server = serverPid(dataDir)
      const all = [server, ...childrenOf(server)]
      for (const pid of all) process.kill(pid, 'SIGSTOP')
      return () => {
        for (const pid of all) process.kill(pid, 'SIGCONT')
      }
    },
    async start() {
      child = spawnServer(dataDir)
      url = await urlOf(child)
    },
  }
}

const serverPid = (dataDir: string): number =>
  Number(readFileSync(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0])

const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number)

function spawnServer(dataDir: string): ChildProcess {
  const child = spawn(process.execPath, [program, dataDir], { cwd: '/', stdio: ['ignore', 'pipe', 'inherit'] })
  const killNow = () => void child.kill('SIGKILL')
  process.once('exit', killNow)
  child.once('exit', () => process.off('exit', killNow))
  return child
}

async function urlOf({ stdout }: ChildProcess): Promise<string> {
  if (!stdout) throw new Error('the database process has no output')
  const [line] = (await once(createInterface(stdout), 'line')) as [string]
  const { url, error } = JSON.parse(line) as { url?: string; error?: string }
  if (url === undefined) throw new Error(error ?? 'the database did not start')
  return url
}

function withDatabase(url: string, name: string): string {
  const changed = new URL(url)
  changed.pathname = `/${name}`
  return changed.href
}

async function asAdmin(url: string, statement: string): Promise<void> {
  const admin = new URL(withDatabase(url, 'postgres'))
  admin.username = 'postgres'
  const client = new Client({ connectionString: admin.href })
  await client.connect()
  await client.query(statement).finally(() => client.end())
}
