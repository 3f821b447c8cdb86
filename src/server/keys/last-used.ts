import type { Log } from '../platform/log.ts'
import { every } from '../platform/timers.ts'

interface Options {
  readonly write: (ids: readonly string[]) => Promise<void>
  readonly log: Pick<Log, 'debug'>
}

/** Records when keys were used, outside of the call path. */
export interface LastUsed {
  touch(keyId: string): void
  /** Writes pending uses. */
  stop(): Promise<void>
}

const flushMs = 2_000
const writeIntervalMs = 60_000

/** Writes a first use within 2 s, later ones once a minute. A failed write is not retried: later uses replace it. */
export function createLastUsed({ write, log }: Options): LastUsed {
  let pending = new Set<string>()
  /** Time of the last write per key. */
  const written = new Map<string, number>()

  async function flush(): Promise<void> {
    const now = performance.now()
    for (const [id, at] of written) if (now - at >= writeIntervalMs) written.delete(id)
    const ids = [...pending]
    pending = new Set()
    if (ids.length === 0) return
    for (const id of ids) written.set(id, now)
    await write(ids).catch((cause: unknown) => log.debug({ err: cause }, 'cannot record the last use of keys'))
  }

  const stopFlushing = every(flushMs, flush)
  return {
    touch(keyId) {
      if (!written.has(keyId)) pending.add(keyId)
    },
    async stop() {
      await stopFlushing()
      await flush()
    },
  }
}
