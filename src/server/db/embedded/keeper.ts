import { randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import type { Client } from 'pg'
import type { AppError } from '../../platform/errors.ts'
import type { Log } from '../../platform/log.ts'
import { pause } from '../../platform/timers.ts'
import type { Confinement } from './confinement.ts'
import { cannotStart, explain, isTransient } from './explain.ts'
import { type Folders, makePrivateFolder, writeAccess } from './folders.ts'
import { disownLockFile, isServer, readLockFile } from './lock-file.ts'
import { provision, takeLock, visit } from './owner.ts'
import { type ServerProcess, startServer } from './server-process.ts'

interface Place {
  readonly folders: Folders
  readonly confinement: Confinement
  readonly log: Log
  /** Overrides `max_connections` of postgresql.conf unless undefined. */
  readonly connections: number | undefined
  /** Called if another process took over the folder while our server was down. Our server has stopped by then. */
  readonly onClaimed: (error: Error) => void
}

/** Connection that holds the lock. */
interface LockConnection {
  readonly client: Client
  readonly lost: Promise<void>
}

const pollMs = 15
const retryMs = 1_500
/** Long, because after a crash the server replays its log before it accepts connections. */
const ownTimeoutMs = 60_000
const foreignTimeoutMs = 15_000
/** Time in which a server that is being started gets its owner. */
const orphanMs = 250

/**
 * Keeps one server running on a data folder and owns the folder with an advisory lock. The lock belongs to a connection
 * that stays open, so it is released as soon as this process exits. (`postmaster.pid` would also list an orphaned
 * server.)
 */
export class Keeper {
  readonly #place: Place
  readonly #token = randomBytes(6).toString('hex')
  readonly #stopping = new AbortController()
  #server: ServerProcess | undefined
  #hasServed = false
  #lockConnection: LockConnection | undefined
  #taken: AppError | undefined
  #recovery: Promise<void> | undefined

  constructor(place: Place) {
    this.#place = place
  }

  /** Resolves once the server runs and this process owns the folder. Rejects with the reason otherwise. */
  async start(): Promise<void> {
    const startedAt = performance.now()
    try {
      let lockConnection: LockConnection | undefined
      while (!lockConnection) {
        lockConnection = await this.#attempt()
        if (!lockConnection) await this.#waitSince(startedAt)
      }
      this.#watch(lockConnection)
    } catch (error) {
      await this.#server?.stop()
      throw error
    }
  }

  /** Stops the server cleanly and closes open connections. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#recovery
    await this.#lockConnection?.client.end()
    await this.#server?.stop()
    const { socket, dataDir } = this.#place.folders
    if (!socket.startsWith(dataDir)) rmSync(socket, { recursive: true, force: true })
  }

  /** Makes one attempt to get a running server with our lock; undefined if the caller should retry. */
  async #attempt(): Promise<LockConnection | undefined> {
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

  /** Starts the server; false while another server has not exited. */
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

  /** False if a server answers on the socket. Stops one without an owner. */
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
    this.#place.log.warn({ pid }, 'stopping a database server whose owner has exited')
    process.kill(pid, 'SIGINT')
    return false
  }

  async #lock(client: Client): Promise<void> {
    const holder = await takeLock(client, this.#token)
    if (!holder) return
    const { dataDir } = this.#place.folders
    const who = holder.pid ? `process ${holder.pid}` : 'another process'
    const way = `stop ${who}, or set SWITCHYARD_DATA_DIR to another folder`
    this.#taken = cannotStart(`data folder ${dataDir} is in use by ${who}`, way)
    throw this.#taken
  }

  #afterExit(output: string): undefined {
    this.#server = undefined
    // A server that was killed while it ran can be restarted at once.
    if (this.#hasServed || isTransient(output)) return undefined
    const { dataDir, cluster } = this.#place.folders
    throw explain({ doing: `starting the database in ${cluster}`, dataDir, output })
  }

  async #waitSince(startedAt: number): Promise<void> {
    const timeoutMs = this.#server ? ownTimeoutMs : foreignTimeoutMs
    if (performance.now() - startedAt < timeoutMs) return pause(pollMs)
    if (!this.#server) throw this.#foreign()
    const { cluster, dataDir } = this.#place.folders
    throw explain({ doing: `starting the database in ${cluster}`, dataDir, output: this.#server.output() })
  }

  /** Error for a server that we can neither use nor stop: of another user or container, or one that hangs. */
  #foreign(): AppError {
    const { cluster, dataDir } = this.#place.folders
    const pid = readLockFile(cluster)?.pid
    const problem = `another database server (process ${pid ?? 'unknown'}) uses the data folder ${dataDir}`
    return cannotStart(problem, `stop it (kill -INT ${pid ?? '<pid>'}), or set SWITCHYARD_DATA_DIR to another folder`)
  }

  #watch(lockConnection: LockConnection): void {
    this.#lockConnection = lockConnection
    this.#hasServed = true
    void lockConnection.lost.then(() => {
      if (!this.#stopping.signal.aborted) this.#recovery = this.#recover()
    })
  }

  /** Restarts the server, or only reconnects, with unlimited retries. */
  async #recover(): Promise<void> {
    const { log } = this.#place
    const { signal } = this.#stopping
    log.warn('embedded database exited; restarting it')
    let logged = ''
    while (!signal.aborted) {
      let waitMs = pollMs
      try {
        const lockConnection = await this.#attempt()
        if (lockConnection) {
          log.warn('embedded database is running again')
          return this.#watch(lockConnection)
        }
      } catch (error) {
        if (this.#taken) return this.#giveUp(this.#taken)
        const text = String(error)
        if (text !== logged) log.error({ err: error }, 'cannot restart the embedded database; retrying')
        logged = text
        waitMs = retryMs
      }
      await pause(waitMs, signal)
    }
  }

  async #giveUp(taken: AppError): Promise<void> {
    await this.#server?.stop()
    this.#place.onClaimed(taken)
  }
}
