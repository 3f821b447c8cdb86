import { randomUUID } from 'node:crypto'
import { untilAborted } from '../../platform/until-aborted.ts'
import type { Sandboxes } from '../../sandboxes/sandboxes.ts'
import type { PooledProgram } from './program-pool.ts'

interface Check<T> {
  readonly sandboxes: Pick<Sandboxes, 'remove'>
  readonly signal: AbortSignal
  /** Starts the program in the sandbox of that session. */
  readonly start: (sessionId: string) => Promise<T>
  /** Checks the started program further. */
  readonly probe?: (started: T) => Promise<void>
}

/** Starts a program in a separate sandbox, and ends both. Rejects with the failure, or with the signal's reason. */
export async function checkStart<T extends Pick<PooledProgram, 'stop'>>({ sandboxes, signal, start, probe }: Check<T>) {
  const sessionId = `check-${randomUUID()}`
  const check = async () => {
    const started = await start(sessionId)
    try {
      await probe?.(started)
    } finally {
      await started.stop()
    }
  }
  try {
    // After an abort, the program ends with its sandbox.
    await untilAborted(check(), signal)
  } finally {
    await sandboxes.remove(sessionId)
  }
}
