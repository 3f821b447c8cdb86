import { randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import type { Client } from 'pg'
import type { AppError } from '../../platform/errors.ts'
import type { Log } from '../../platform/log.ts'
import { pause } from '../../platform/timers.ts'
import type { Confinement } from './confinement.ts'
import { cannotStart, explain, isPassing } from './explain.ts'
import { type Folders, makePrivateFolder, writeAccess } from './folders.ts'
import { disownLockFile, isServer, readLockFile } from './lock-file.ts'
import { provision, takeLock, visit } from './owner.ts'
import { type ServerProcess, startServer } from './server-process.ts'

interface Place {
  readonly folders: Folders
  readonly confinement: Confinement
  readonly log: Log
  /** Wins over `max_connections` of postgresql.conf, unless it is undefined. */
  readonly connections: number | undefined
  /** Told when another process took the folder while our server was down; nothing of ours runs on it then. */
  readonly onTaken: (error: Error) => void
}

/** The connection that holds the lock. */
interface Hold {
  readonly client: Client
  readonly lost: Promise<void>
}

const pollMs = 15
const retryMs = 1_500
/** Long, since after a crash the server replays its log before it serves. */
const ownPatienceMs = 60_000
const foreignPatienceMs = 15_000
/** In this time a server that is just being started gets its owner. */
const orphanMs = 250

/**
 * Keeps one server running on a data folder, and shows that we own the folder: by an advisory lock of a connection that
 * stays open, so that it is free in the moment when we are gone. (`postmaster.pid` would also name an orphan.)
 */
export class Keeper {
  readonly #place: Place
  readonly #token = randomBytes(6).toString('hex')
  readonly #stopping = new AbortController()
  #server: ServerProcess | undefined
  #hasServed = false
  #hold: Hold | undefined
  #taken: AppError | undefined
  #recovery: Promise<void> | undefined

  constructor(place: Place) {
    this.#place = place
  }

  /** Serves and owns the folder from then on, or refuses with the reason. */
  async start(): Promise<void> {
    const startedAt = performance.now()
    try {
      let hold: Hold | undefined
      while (!hold) {
        hold = await this.#attempt()
        if (!hold) await this.#waitSince(startedAt)
      }
      this.#watch(hold)
    } catch (error) {
      await this.#server?.stop()
      throw error
    }
  }

  /** Ends the server in order; connections that are still open are cut. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#recovery
    await this.#hold?.client.end()
    await this.#server?.stop()
    const { socket, dataDir } = this.#place.folders
    if (!socket.startsWith(dataDir)) rmSync(socket, { recursive: true, force: true })
  }

  /** One step towards a running server with our lock; undefined when the next step is to try again. */
  async #attempt(): Promise<Hold | undefined> {
    if (!this.#server && !(await this.#launch())) return undefined
    if (this.#server?.hasExited) return this.#afterExit(this.#server.output())
    const client = await visit({ socket: this.#place.folders.socket, token: this.#token })
    if (client === 'refused') throw this.#foreign()
    if (typeof client === 'string') return undefined
    const lost = new Promise<void>(resolve => {
      client.once('end', resolve)
    })
    try {
      await this.#lock(client)
      await provision(client)
      return { client, lost }
    } catch (error) {
      await client.end()
      if (this.#taken) throw error
      this.#place.log.debug({ err: error }, 'embedded database: not ready')
      return undefined
    }
  }

  /** True when the server was started; false while another one has yet to end. */
  async #launch(): Promise<boolean> {
    const { folders, confinement, log, connections } = this.#place
    const lockFile = readLockFile(folders.cluster)
    for (const socket of new Set([folders.socket, lockFile?.socket ?? folders.socket])) {
      if (!(await this.#isFree(socket))) return false
    }
    if (lockFile && isServer(lockFile.pid)) return false
    if (lockFile) disownLockFile(folders)
    makePrivateFolder(folders.socket, confinement.account)
    writeAccess(folders.access)
    this.#server = startServer({ confinement, folders, log, connections })
    this.#hasServed = false
    return true
  }

  /** False when a server answers there. One without an owner is asked to end. */
  async #isFree(socket: string): Promise<boolean> {
    const client = await visit({ socket, token: this.#token })
    if (client === 'refused') throw this.#foreign()
    if (typeof client === 'string') return client === 'absent'
    try {
      await pause(orphanMs)
      await this.#lock(client)
    } finally {
      await client.end()
    }
    const pid = readLockFile(this.#place.folders.cluster)?.pid
    if (!pid || !isServer(pid)) throw this.#foreign()
    this.#place.log.warn({ pid }, 'ending a database server whose owner is gone')
    process.kill(pid, 'SIGINT')
    return false
  }

  async #lock(client: Client): Promise<void> {
    const holder = await takeLock(client, this.#token)
    if (!holder) return
    const { dataDir } = this.#place.folders
    const who = holder.pid ? `process ${holder.pid}` : 'another process'
    const way = `stop ${who}, or set SWITCHYARD_DATA_DIR to another folder`
    this.#taken = cannotStart(`the data folder ${dataDir} is in use by ${who}`, way)
    throw this.#taken
  }

  #afterExit(output: string): undefined {
    this.#server = undefined
    // One that was killed while it served can be started again at once.
    if (this.#hasServed || isPassing(output)) return undefined
    const { dataDir, cluster } = this.#place.folders
    throw explain({ doing: `starting the database in ${cluster}`, dataDir, output })
  }

  async #waitSince(startedAt: number): Promise<void> {
    const patienceMs = this.#server ? ownPatienceMs : foreignPatienceMs
    if (performance.now() - startedAt < patienceMs) return pause(pollMs)
    if (!this.#server) throw this.#foreign()
    const { cluster, dataDir } = this.#place.folders
    throw explain({ doing: `starting the database in ${cluster}`, dataDir, output: this.#server.output() })
  }

  /** A server that we can neither use nor end: another user's, one that hangs, or one of another container. */
  #foreign(): AppError {
    const { cluster, dataDir } = this.#place.folders
    const pid = readLockFile(cluster)?.pid
    const problem = `another database server (process ${pid ?? 'unknown'}) runs on the data folder ${dataDir}`
    return cannotStart(problem, `end it (kill -INT ${pid ?? '<pid>'}), or set SWITCHYARD_DATA_DIR to another folder`)
  }

  #watch(hold: Hold): void {
    this.#hold = hold
    this.#hasServed = true
    void hold.lost.then(() => {
      if (!this.#stopping.signal.aborted) this.#recovery = this.#recover()
    })
  }

  /** The server died, or only our connection: brings both back, for as long as it takes. */
  async #recover(): Promise<void> {
    const { log } = this.#place
    const { signal } = this.#stopping
    log.warn('the embedded database went away; starting it again')
    let said = ''
    while (!signal.aborted) {
      let waitMs = pollMs
      try {
        const hold = await this.#attempt()
        if (hold) {
          log.warn('the embedded database is back')
          return this.#watch(hold)
        }
      } catch (error) {
        if (this.#taken) return this.#giveUp(this.#taken)
        const text = String(error)
        if (text !== said) log.error({ err: error }, 'the embedded database does not start; trying again')
        said = text
        waitMs = retryMs
      }
      await pause(waitMs, signal)
    }
  }

  async #giveUp(taken: AppError): Promise<void> {
    await this.#server?.stop()
    this.#place.onTaken(taken)
  }
}
