import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { isAlive } from './db/embedded/lock-file.ts'
import type { Log } from './platform/log.ts'

/** A service that runs on this machine. */
export interface Running {
  readonly pid: number
  /** Its address, such as `http://localhost:4000`. */
  readonly url: string
}

/** One file per process, because replicas on several machines may share a data folder. */
const folderOf = (dataDir: string): string => join(dataDir, 'running')
const suffix = '.json'
const prefixOfHost = (): string => `${encodeURIComponent(hostname())}-`

/**
 * Writes the address of this process into the data folder, so that commands and a second start find it. Returns a
 * function that removes it. When the folder cannot be written, it logs a warning, and commands need `--url`.
 */
export function announce(dataDir: string, { url, log }: { url: string; log: Log }): () => void {
  const folder = folderOf(dataDir)
  const file = join(folder, `${prefixOfHost()}${process.pid}${suffix}`)
  const unfinished = `${file}.new`
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    writeFileSync(unfinished, `${JSON.stringify({ pid: process.pid, url })}\n`, { mode: 0o600 })
    renameSync(unfinished, file)
    return () => rmSync(file, { force: true })
  } catch (error) {
    log.warn({ err: error }, 'cannot write the address into the data folder; commands need --url')
    return () => {}
  }
}

/**
 * Returns the services of this machine that use the data folder and accept connections. Removes files of dead
 * processes.
 */
export async function findRunning(dataDir: string): Promise<Running[]> {
  const found = entriesOf(dataDir)
  const accepting = await Promise.all(found.map(({ url }) => accepts(url)))
  return found.filter((_, index) => accepting[index])
}

function entriesOf(dataDir: string): Running[] {
  const folder = folderOf(dataDir)
  return namesIn(folder).flatMap(name => {
    const path = join(folder, name)
    const entry = read(path)
    if (entry && entry.pid !== process.pid && isAlive(entry.pid)) return [entry]
    rmSync(path, { force: true })
    return []
  })
}

/** Returns the file names of this machine; an empty list when the folder is missing or belongs to another user. */
function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).filter(name => name.startsWith(prefixOfHost()) && name.endsWith(suffix))
  } catch {
    return []
  }
}

function read(path: string): Running | undefined {
  try {
    const { pid, url } = JSON.parse(readFileSync(path, 'utf8')) as Running
    return Number.isInteger(pid) && pid > 0 && URL.canParse(url) ? { pid, url } : undefined
  } catch {
    return undefined
  }
}

const connectTimeoutMs = 500

/** Tries to connect: the process id may belong to another program by now. */
function accepts(url: string): Promise<boolean> {
  const { hostname: host, port } = new URL(url)
  return new Promise(resolve => {
    const socket = connect({ host: host.replace(/^\[|\]$/g, ''), port: Number(port), timeout: connectTimeoutMs })
    const end = (isOpen: boolean) => {
      socket.destroy()
      resolve(isOpen)
    }
    socket.once('connect', () => end(true))
    socket.once('error', () => end(false))
    socket.once('timeout', () => end(false))
  })
}
