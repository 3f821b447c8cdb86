import type { Notifications } from '../../db/notifications.ts'
import { namesOf } from './server.ts'
import { type McpServerStore, type ServerRow, serverChannel } from './store.ts'

interface Deps {
  readonly store: Pick<McpServerStore, 'list' | 'find'>
  readonly notifications: Pick<Notifications, 'on' | 'onReconnect'>
  /** Monotonic. */
  readonly nowMs: () => number
}

/** For lost notifications. */
const maxAgeMs = 5_000

/**
 * The rows of the registry, which has a maximum size, in memory: proxied calls read no row. A change on any replica
 * clears them. Must be created before the notifications start.
 */
export type ServerCache = ReturnType<typeof createServerCache>

export function createServerCache({ store, notifications, nowMs }: Deps) {
  let loaded: { readonly rows: Promise<readonly ServerRow[]>; readonly sinceMs: number } | undefined
  const clear = (): void => {
    loaded = undefined
  }
  notifications.on(serverChannel, clear)
  notifications.onReconnect(clear)

  function list(): Promise<readonly ServerRow[]> {
    if (loaded && nowMs() - loaded.sinceMs < maxAgeMs) return loaded.rows
    const mine = { rows: store.list(), sinceMs: nowMs() }
    loaded = mine
    mine.rows.catch(() => {
      if (loaded === mine) loaded = undefined
    })
    return mine.rows
  }

  return {
    /** Returns all servers by name. */
    list,

    /** Returns the server with this id, name or alias. An unknown one is looked up: it may be new on another replica. */
    async find(name: string): Promise<ServerRow | undefined> {
      const named = (await list()).filter(row => namesOf(row).includes(name))
      const best = named.find(row => row.server_id === name) ?? named.find(row => row.server_name === name) ?? named[0]
      return best ?? store.find(name)
    },

    /** Forgets the rows after a change in this process. */
    clear,
  }
}
