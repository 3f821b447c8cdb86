import type { Log } from '../platform/log.ts'
import { every } from '../platform/timers.ts'

interface Options {
  readonly write: (ids: readonly string[]) => Promise<void>
  readonly log: Pick<Log, 'debug'>
}

/** Records when keys were used, away from the calls. */
export interface LastUsed {
  touch(keyId: string): void
  /** Writes what is left. */
  stop(): Promise<void>
}

const flushMs = 2_000
const restMs = 60_000

/** A first use is written within 2 s, later ones once a minute. What cannot be written is let go: the next use comes. */
export function createLastUsed({ write, log }: Options): LastUsed {
  let pending = new Set<string>()
  /** When each key was written last. */
  const written = new Map<string, number>()

  async function flush(): Promise<void> {
    const now = performance.now()
    for (const [id, at] of written) if (now - at >= restMs) written.delete(id)
    const ids = [...pending]
    pending = new Set()
    if (ids.length === 0) return
    for (const id of ids) written.set(id, now)
    await write(ids).catch((cause: unknown) => log.debug({ err: cause }, 'the last use of keys was not recorded'))
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
