import type { Notifications } from '../../db/notifications.ts'
import { type McpServerStore, type ServerRow, serverChannel } from './store.ts'

interface Deps {
  readonly store: Pick<McpServerStore, 'list' | 'find'>
  readonly notifications: Pick<Notifications, 'on' | 'onReconnect'>
  /** Monotonic. */
  readonly nowMs: () => number
}

interface Loaded {
  readonly rows: Promise<readonly ServerRow[]>
  readonly byName: Promise<ReadonlyMap<string, ServerRow>>
  readonly sinceMs: number
}

/** For lost notifications. */
const maxAgeMs = 5_000

/**
 * The rows of the registry, which has a maximum size, in memory: proxied calls read no row. A change on any replica
 * clears them. Must be created before the notifications start.
 */
export type ServerCache = ReturnType<typeof createServerCache>

export function createServerCache({ store, notifications, nowMs }: Deps) {
  let loaded: Loaded | undefined
  const clear = (): void => {
    loaded = undefined
  }
  notifications.on(serverChannel, clear)
  notifications.onReconnect(clear)

  function load(): Loaded {
    if (loaded && nowMs() - loaded.sinceMs < maxAgeMs) return loaded
    const rows = store.list()
    const mine = { rows, byName: rows.then(byName), sinceMs: nowMs() }
    loaded = mine
    mine.byName.catch(() => {
      if (loaded === mine) loaded = undefined
    })
    return mine
  }

  return {
    /** Returns all servers by name. */
    list: (): Promise<readonly ServerRow[]> => load().rows,

    /** Returns the server with this id, name or alias. An unknown one is looked up: it may be new on another replica. */
    async find(name: string): Promise<ServerRow | undefined> {
      return (await load().byName).get(name) ?? store.find(name)
    },

    /** Forgets the rows after a change in this process. */
    clear,
  }
}

/** Returns the rows by id, name and alias; of equal ones an id wins, then a name. */
function byName(rows: readonly ServerRow[]): Map<string, ServerRow> {
  const found = new Map<string, ServerRow>()
  for (const row of rows) if (row.alias !== null) found.set(row.alias, row)
  for (const row of rows) found.set(row.server_name, row)
  for (const row of rows) found.set(row.server_id, row)
  return found
}
