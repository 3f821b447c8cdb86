import { readdirSync, readFileSync, statSync } from 'node:fs'

/** Use of the open files limit of this process, which also counts connections and pipes. */
export interface OpenFiles {
  /** Reason why no work should start; undefined while descriptors are free. Measured at most four times per second. */
  readonly shortage: string | undefined
  /** Maximum client connections that leave descriptors for their requests; undefined if the limit is unknown. */
  readonly maxConnections: number | undefined
}

interface Count {
  readonly used: number
  readonly limit: number
}

const cachedMs = 250

/** Reserve for running work: a command uses up to 20 descriptors while it starts. */
const reserveOf = (limit: number): number => Math.min(256, Math.max(32, Math.floor(limit / 20)))

/** Watches open files. Node raises the soft limit to the hard limit at start. Tests replace `count`. */
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
    // Counting also needs a descriptor.
    return 'no file descriptor is free; raise the limit of open files (ulimit -n)'
  }
}

/** Text of a tool call that found no descriptor. */
export const shortOfFiles = 'server has reached its limit of open files; retry later'

/** True for an error of the system that a descriptor was lacking. */
export const isShortOfFiles = (error: unknown): boolean =>
  ['EMFILE', 'ENFILE'].includes((error as NodeJS.ErrnoException).code ?? '')

/** Undefined if the system does not report it or has no limit. Throws if no descriptor is free. */
function countOpenFiles(): Count | undefined {
  if (process.platform !== 'linux') return undefined
  const limit = Number(/^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1])
  if (!limit) return undefined
  // Kernels since 6.2 report the number as the size, older ones 0.
  return { used: statSync('/proc/self/fd').size || readdirSync('/proc/self/fd').length, limit }
}
