import { readdirSync, readFileSync, statSync } from 'node:fs'

/** How near this process is to its limit of open files, which counts connections and pipes as well. */
export interface OpenFiles {
  /** Why no work should begin; undefined while there is room. Measured at most four times a second. */
  readonly shortage: string | undefined
  /** Connections of clients that leave room for what they ask for; undefined where the limit is not known. */
  readonly maxConnections: number | undefined
}

interface Count {
  readonly used: number
  readonly limit: number
}

const cachedMs = 250

/** Room for what runs: a command takes up to 20 descriptors while it is being started. */
const reserveOf = (limit: number): number => Math.min(256, Math.max(32, Math.floor(limit / 20)))

/** Node has raised the soft limit to the hard one before our first line runs. `count` is replaced in tests. */
export function watchOpenFiles(count: () => Count | undefined = countOpenFiles): OpenFiles {
  const limit = count()?.limit
  let countedAt = Number.NEGATIVE_INFINITY
  let shortage: string | undefined
  return {
    get shortage() {
      if (performance.now() - countedAt < cachedMs) return shortage
      shortage = shortageOf(count)
      countedAt = performance.now()
      return shortage
    },
    maxConnections: limit === undefined ? undefined : Math.max(1, limit - 3 * reserveOf(limit)),
  }
}

function shortageOf(count: () => Count | undefined): string | undefined {
  try {
    const found = count()
    if (!found || found.used < found.limit - reserveOf(found.limit)) return undefined
    return `${found.used} of ${found.limit} file descriptors are in use; raise the limit of open files (ulimit -n)`
  } catch {
    // Even to count them takes one.
    return 'no file descriptor is free; raise the limit of open files (ulimit -n)'
  }
}

/** Undefined where the system does not tell, or sets no limit. Throws when no descriptor is free. */
function countOpenFiles(): Count | undefined {
  if (process.platform !== 'linux') return undefined
  const limit = Number(/^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1])
  if (!limit) return undefined
  // Kernels since 6.2 report the number as the size, older ones 0.
  return { used: statSync('/proc/self/fd').size || readdirSync('/proc/self/fd').length, limit }
}
