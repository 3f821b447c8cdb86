import { randomUUID } from 'node:crypto'
import type { Sandboxes } from '../../sandboxes/sandboxes.ts'
import type { Keepable } from './kept-programs.ts'

interface Check<T> {
  readonly sandboxes: Pick<Sandboxes, 'remove'>
  readonly signal: AbortSignal
  /** Starts the program in the sandbox of that session. */
  readonly start: (sessionId: string) => Promise<T>
  /** A further look at what was started. */
  readonly look?: (started: T) => Promise<void>
}

/** Starts a program in a sandbox of its own, and ends both. Rejects with what went wrong, or with the signal's reason. */
export async function checkStart<T extends Pick<Keepable, 'stop'>>({ sandboxes, signal, start, look }: Check<T>) {
  const sessionId = `check-${randomUUID()}`
  const check = async () => {
    const started = await start(sessionId)
    try {
      await look?.(started)
    } finally {
      await started.stop()
    }
  }
  try {
    await untilAborted(check(), signal)
  } finally {
    await sandboxes.remove(sessionId)
  }
}

/** Gives up with the signal; what was started then ends with its sandbox. */
function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    work.then(resolve, reject)
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
  })
}
