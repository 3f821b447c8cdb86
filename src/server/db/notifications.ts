import { Client, type ClientConfig, type Notification, type Pool } from 'pg'
import type { Log } from '../platform/log.ts'
import { every, pause } from '../platform/timers.ts'
import { createHintBatches } from './hint-batches.ts'

type Listener = (payload: string) => void

/** LISTEN on a dedicated connection. A notification is only a hint: receivers read the table, and also poll. */
export interface Notifications {
  /** Calls `listener` for each notification on `channel`. Register before `start`. */
  on(channel: string, listener: Listener): void
  /**
   * Sends a hint to all processes, including this one, batched with others. While the connection is lost, other
   * processes do not get it; a process without peers sends none.
   */
  send(channel: string, payload: string): void
  /**
   * Calls `listener` after each reconnect, since hints may have been lost, and before any hint of the new connection.
   */
  onReconnect(listener: () => void): void
  /** Connects, and reconnects when needed. The connection holds the lock of `owner`, which shows that it is alive. */
  start(owner: string): Promise<void>
  /**
   * Resolves to true if processes other than this one and `siblings` serve this database, or if the database does not
   * answer within 500 ms.
   */
  hasPeers(siblings?: readonly string[]): Promise<boolean>
  stop(): Promise<void>
}

interface Connection {
  readonly client: Client
  /** Resolves when the connection has ended for any reason. */
  readonly ended: Promise<void>
  /** Delivers the buffered hints, and later ones at once. */
  deliver(): void
}

const retryMs = 500
const connectTimeoutMs = 5_000
const lockRetryMs = 1_000
const stopMs = 2_000
const peersMs = 500
/** Interval of checks for peers. A starting process also notifies the others. */
const peersPollMs = 5_000
const helloChannel = 'switchyard_hello'
const connectionName = 'switchyard-listen'

/** SQL of the advisory lock that a live process holds. A process that can take it knows that the owner has exited. */
export const ownerLock = ownerLockOf('$1')

/** As `ownerLock`, of the process whose id is the SQL expression `owner`. */
export function ownerLockOf(owner: string): string {
  return `hashtextextended(${owner}, 7251)`
}

export function createNotifications(config: ClientConfig, log: Log): Notifications {
  const listeners = new Map<string, Listener[]>()
  const reconnectListeners: (() => void)[] = []
  const stopped = new AbortController()
  let current: Connection | undefined
  let keeping: Promise<void> | undefined
  let stopPolling: (() => Promise<void>) | undefined
  /** False until the database reported that there are no other listeners. */
  let isAlone = false
  /** Number of notifications of other processes. */
  let received = 0
  const dispatch = (channel: string, payload: string): void => {
    for (const listener of listeners.get(channel) ?? []) listener(payload)
  }
  const hints = createHintBatches({
    deliver: dispatch,
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
    client.on('error', cause => log.warn({ err: cause }, 'lost the notification connection; reconnecting'))
    const receive = ({ channel, payload = '', processId }: Notification) => {
      // Hints of this process are delivered to it directly.
      if (processId === ownPid) return
      received++
      isAlone = false
      for (const one of hints.split(payload)) dispatch(channel, one)
    }
    let ownPid: number | undefined
    // Buffered until the reconnect listeners ran, which must run before any hint of the new connection.
    let early: Notification[] | undefined = []
    client.on('notification', hint => (early ? early.push(hint) : receive(hint)))
    const ended = new Promise<void>(resolve => client.once('end', resolve))
    try {
      await client.connect()
      ownPid = await prepared(client)
      for (const channel of [helloChannel, ...listeners.keys()]) await client.query(`listen ${channel}`)
      const deliver = () => {
        for (const hint of early ?? []) receive(hint)
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
        log.debug({ err: cause }, 'cannot reconnect the notification connection; retrying')
      }
    }
    return undefined
  }

  /** Loop of the whole lifetime: waits for the end of a connection, then reconnects. */
  async function keep(first: Connection, owner: string): Promise<void> {
    for (let connection: Connection | undefined = first; connection; connection = await reconnect()) {
      current = connection
      if (connection !== first) for (const listener of reconnectListeners) listener()
      connection.deliver()
      const stopAcquiring = acquireOwnerLock(connection.client, owner, log)
      if (stopped.signal.aborted) void connection.client.end().catch(() => undefined)
      await connection.ended
      await stopAcquiring()
    }
  }

  async function hasPeers(siblings: readonly string[] = []): Promise<boolean> {
    const timeout = new AbortController()
    const answer = current ? findPeers(current.client, siblings).catch(() => true) : true
    const found = await Promise.race([answer, pause(peersMs, timeout.signal).then(() => true)])
    timeout.abort()
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
      const checkPeers = async () => {
        const before = received
        const found = await hasPeers()
        // A peer that started during the query is not in its answer.
        if (received === before) isAlone = !found
      }
      await checkPeers()
      stopPolling = every(peersPollMs, checkPeers)
    },
    hasPeers,
    async stop() {
      stopped.abort()
      await stopPolling?.()
      void current?.client.end().catch(() => undefined)
      // A connection to an unreachable server can take minutes to end.
      const timeout = new AbortController()
      await Promise.race([keeping, pause(stopMs, timeout.signal)])
      timeout.abort()
    },
  }
}

/**
 * Retries until it has the owner's lock: after a lost connection the server may keep the previous one, and its lock,
 * for a while. Waiting in the database instead would block all notifications.
 */
function acquireOwnerLock(client: Client, owner: string, log: Log): () => Promise<void> {
  let isAcquired = false
  const attempt = async () => {
    if (isAcquired) return
    try {
      isAcquired = await takeOwnerLock(client, owner)
    } catch (cause) {
      log.debug({ err: cause }, 'cannot acquire the lock of this process; retrying')
    }
  }
  void attempt()
  return every(lockRetryMs, attempt)
}

/** Prepares a connection without durable writes, so commits need not wait for the disk. Returns its backend pid. */
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
    log.debug({ err: cause }, 'cannot send notifications')
  })
}

/** True if another notification connection holds the lock of an owner that is not a sibling. */
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

/** Hints of a program that changes the database beside the service and does not listen. */
export interface OutgoingHints {
  send(channel: string, payload: string): void
  /** Resolves when all were sent or failed; a lost hint only delays what it would announce. */
  sent(): Promise<void>
}

/** Creates the sender of hints for a program that does not listen. Each is sent outside of any transaction. */
export function createOutgoingHints(pool: Pick<Pool, 'query'>): OutgoingHints {
  const sending: Promise<unknown>[] = []
  return {
    send(channel, payload) {
      sending.push(pool.query('select pg_notify($1, $2)', [channel, payload]).catch(() => undefined))
    },
    async sent() {
      await Promise.all(sending)
    },
  }
}
