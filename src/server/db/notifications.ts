import { Client, type ClientConfig, type Notification } from 'pg'
import type { Log } from '../platform/log.ts'
import { every, pause } from '../platform/timers.ts'
import { createHintBatches } from './hint-batches.ts'

type Listener = (payload: string) => void

/** LISTEN on one connection of its own. A notification is a hint: readers look at the table, and poll besides. */
export interface Notifications {
  /** Calls `listener` for each notification on `channel`. Register before `start`. */
  on(channel: string, listener: Listener): void
  /**
   * Sends a hint to all processes, this one too, with others in one statement. Others lose it without a word while the
   * connection is away; a lone process sends none.
   */
  send(channel: string, payload: string): void
  /** Called after each reconnect, when hints may have been lost, and before any hint of the new connection. */
  onReconnect(listener: () => void): void
  /** Connects, and keeps connecting. `owner` is shown alive to other processes as long as the connection lives. */
  start(owner: string): Promise<void>
  /**
   * Whether processes with other owners than these, besides this one, serve this database. True when the database does not say so
   * within 500 ms.
   */
  hasPeers(siblings?: readonly string[]): Promise<boolean>
  stop(): Promise<void>
}

interface Connection {
  readonly client: Client
  /** Resolves when the connection is gone, for whatever reason. */
  readonly ended: Promise<void>
  /** Hands on what was heard so far, and from then on at once. */
  deliver(): void
}

const retryMs = 500
const connectTimeoutMs = 5_000
const lockRetryMs = 1_000
const stopMs = 2_000
const peersMs = 500
/** How often a process looks whether it is alone. One that starts says so itself. */
const peersPollMs = 5_000
const helloChannel = 'switchyard_hello'
const connectionName = 'switchyard-listen'

/** The advisory lock that a live process holds. Whoever can take it knows that the owner is gone. */
export const ownerLock = ownerLockOf('$1')

function ownerLockOf(owner: string): string {
  return `hashtextextended(${owner}, 7251)`
}

export function createNotifications(config: ClientConfig, log: Log): Notifications {
  const listeners = new Map<string, Listener[]>()
  const reconnectListeners: (() => void)[] = []
  const stopped = new AbortController()
  let current: Connection | undefined
  let keeping: Promise<void> | undefined
  let stopLooking: (() => Promise<void>) | undefined
  /** Until the database has said that nobody else listens, somebody might. */
  let isAlone = false
  const tell = (channel: string, payload: string): void => {
    for (const listener of listeners.get(channel) ?? []) listener(payload)
  }
  const hints = createHintBatches({
    hear: tell,
    hasPeers: () => !isAlone,
    notify: (channels, payloads) => notify(current?.client, { channels, payloads, log }),
  })

  async function connect(): Promise<Connection> {
    const client = new Client({
      ...config,
      application_name: connectionName,
      keepAlive: true,
      connectionTimeoutMillis: connectTimeoutMs,
    })
    client.on('error', cause => log.warn({ err: cause }, 'the listening connection was lost'))
    const hear = ({ channel, payload = '', processId }: Notification) => {
      // What this process sends it hears at once.
      if (processId === ownPid) return
      isAlone = false
      for (const one of hints.split(payload)) tell(channel, one)
    }
    let ownPid: number | undefined
    // A hint that is heard before the reconnect is told would pass for the first after those that were lost.
    let early: Notification[] | undefined = []
    client.on('notification', hint => (early ? early.push(hint) : hear(hint)))
    const ended = new Promise<void>(resolve => client.once('end', resolve))
    try {
      await client.connect()
      ownPid = await prepared(client)
      for (const channel of [helloChannel, ...listeners.keys()]) await client.query(`listen ${channel}`)
      const deliver = () => {
        for (const hint of early ?? []) hear(hint)
        early = undefined
      }
      return { client, ended, deliver }
    } catch (error) {
      void client.end().catch(() => undefined)
      throw error
    }
  }

  async function reconnect(): Promise<Connection | undefined> {
    while (!stopped.signal.aborted) {
      await pause(retryMs, stopped.signal)
      try {
        if (!stopped.signal.aborted) return await connect()
      } catch (cause) {
        log.debug({ err: cause }, 'the listening connection is not back yet')
      }
    }
    return undefined
  }

  /** One loop for the whole life: waits for the end of a connection, then makes the next. */
  async function keep(first: Connection, owner: string): Promise<void> {
    for (let connection: Connection | undefined = first; connection; connection = await reconnect()) {
      current = connection
      if (connection !== first) for (const listener of reconnectListeners) listener()
      connection.deliver()
      const stopShowing = showAlive(connection.client, owner, log)
      if (stopped.signal.aborted) void connection.client.end().catch(() => undefined)
      await connection.ended
      await stopShowing()
    }
  }

  async function hasPeers(siblings: readonly string[] = []): Promise<boolean> {
    const enough = new AbortController()
    const answer = current ? findPeers(current.client, siblings).catch(() => true) : true
    const found = await Promise.race([answer, pause(peersMs, enough.signal).then(() => true)])
    enough.abort()
    if (found && siblings.length === 0) isAlone = false
    return found
  }

  return {
    on(channel, listener) {
      listeners.set(channel, [...(listeners.get(channel) ?? []), listener])
    },
    send: hints.send,
    onReconnect: listener => void reconnectListeners.push(listener),
    async start(owner) {
      const first = await connect()
      await takeOwnerLock(first.client, owner)
      keeping = keep(first, owner)
      await notify(first.client, { channels: [helloChannel], payloads: [''], log })
      const look = async () => {
        isAlone = !(await hasPeers())
      }
      await look()
      stopLooking = every(peersPollMs, look)
    },
    hasPeers,
    async stop() {
      stopped.abort()
      await stopLooking?.()
      void current?.client.end().catch(() => undefined)
      // A connection to a server that is out of reach can take minutes to end.
      const enough = new AbortController()
      await Promise.race([keeping, pause(stopMs, enough.signal)])
      enough.abort()
    },
  }
}

/**
 * Takes the owner's lock, again and again until it is ours: after a cut the server may keep the connection before this
 * one, and its lock, for a while. Waiting in the database instead would hold back every notification.
 */
function showAlive(client: Client, owner: string, log: Log): () => Promise<void> {
  let isShown = false
  const attempt = async () => {
    if (isShown) return
    try {
      isShown = await takeOwnerLock(client, owner)
    } catch (cause) {
      log.debug({ err: cause }, 'the lock of this process could not be taken; the next attempt will')
    }
  }
  void attempt()
  return every(lockRetryMs, attempt)
}

/** Nothing that matters is written on this connection: its commits need not wait for the disk. The id of its server process. */
async function prepared(client: Client): Promise<number | undefined> {
  await client.query('set synchronous_commit = off')
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  return rows[0]?.pid
}

interface Batch {
  readonly channels: readonly string[]
  readonly payloads: readonly string[]
  readonly log: Log
}

async function notify(client: Client | undefined, { channels, payloads, log }: Batch): Promise<void> {
  const text = 'select pg_notify(channel, payload) from unnest($1::text[], $2::text[]) as hint (channel, payload)'
  await client?.query({ name: 'hints', text, values: [channels, payloads] }).catch(cause => {
    log.debug({ err: cause }, 'hints were not sent')
  })
}

/** Whether another listening connection holds the lock of an owner that is none of the siblings. */
async function findPeers(client: Client, siblings: readonly string[]): Promise<boolean> {
  const { rows } = await client.query<{ found: boolean }>(
    `select exists (
       select from pg_locks join pg_stat_activity using (pid)
       where locktype = 'advisory' and granted and application_name = $1 and datname = current_database()
         and pid <> pg_backend_pid()
         and (classid::bigint << 32 | objid::bigint) not in (select ${ownerLockOf('owner')} from unnest($2::text[]) as owner)
     ) as found`,
    [connectionName, siblings],
  )
  return rows[0]?.found ?? true
}

async function takeOwnerLock(client: Client, owner: string): Promise<boolean> {
  const text = `select pg_try_advisory_lock(${ownerLock}) as taken`
  const { rows } = await client.query<{ taken: boolean }>(text, [owner])
  return rows[0]?.taken ?? false
}
