import { Client, type ClientConfig } from 'pg'
import type { Log } from '../platform/log.ts'
import { pause } from '../platform/timers.ts'

type Listener = (payload: string) => void

/** LISTEN on one connection of its own. A notification is a hint: readers look at the table, and poll besides. */
export interface Notifications {
  /** Calls `listener` for each notification on `channel`. Register before `start`. */
  on(channel: string, listener: Listener): void
  /** Sends a hint to all processes, this one too. Lost without a word while the connection is away. */
  send(channel: string, payload: string): void
  /** Called after each reconnect, when hints may have been lost. */
  onReconnect(listener: () => void): void
  /** Connects, and keeps connecting. `owner` is shown alive to other processes as long as the connection lives. */
  start(owner: string): Promise<void>
  stop(): Promise<void>
}

const retryMs = 500

/** The advisory lock that a live process holds. Whoever can take it knows that the owner is gone. */
export const ownerLock = 'hashtextextended($1, 7251)'

export function createNotifications(config: ClientConfig, log: Log): Notifications {
  const listeners = new Map<string, Listener[]>()
  const reconnectListeners: (() => void)[] = []
  const stopped = new AbortController()
  let client: Client | undefined
  let reconnecting: Promise<void> | undefined

  async function connect(owner: string): Promise<void> {
    const next = new Client({ ...config, application_name: 'switchyard-listen', keepAlive: true })
    next.on('error', cause => log.warn({ err: cause }, 'the listening connection was lost'))
    next.on('notification', ({ channel, payload = '' }) => {
      for (const listener of listeners.get(channel) ?? []) listener(payload)
    })
    await next.connect()
    next.once('end', () => {
      reconnecting = reconnect(owner)
    })
    await next.query(`select pg_advisory_lock(${ownerLock})`, [owner])
    for (const channel of listeners.keys()) await next.query(`listen ${channel}`)
    client = next
  }

  async function reconnect(owner: string): Promise<void> {
    while (!stopped.signal.aborted) {
      await pause(retryMs, stopped.signal)
      if (stopped.signal.aborted) return
      try {
        await connect(owner)
        for (const listener of reconnectListeners) listener()
        return
      } catch (cause) {
        log.debug({ err: cause }, 'the listening connection is not back yet')
      }
    }
  }

  return {
    on(channel, listener) {
      listeners.set(channel, [...(listeners.get(channel) ?? []), listener])
    },
    send(channel, payload) {
      client?.query('select pg_notify($1, $2)', [channel, payload]).catch(cause => {
        log.debug({ err: cause, channel }, 'a hint was not sent')
      })
    },
    onReconnect: listener => void reconnectListeners.push(listener),
    start: connect,
    async stop() {
      stopped.abort()
      await reconnecting
      client?.removeAllListeners('end')
      await client?.end()
    },
  }
}
