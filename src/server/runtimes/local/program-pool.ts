import type { RunContext, RunPrompt, RunSession } from '../runtime.ts'

/** Program of a session, with the state of its protocol. */
export interface PooledProgram {
  /** Resolves when the program has ended. */
  readonly exited: Promise<unknown>
  /** Ends the program. */
  stop(): Promise<void>
}

interface Entry<T> {
  readonly started: Promise<T>
  idle: NodeJS.Timeout | undefined
}

/** Pool with one program per session. An idle program is stopped after `idleMs`. */
export type ProgramPool<T extends PooledProgram> = ReturnType<typeof createProgramPool<T>>

export function createProgramPool<T extends PooledProgram>({ idleMs }: { readonly idleMs: number }) {
  const bySession = new Map<string, Entry<T>>()

  const end = async (sessionId: string): Promise<void> => {
    const entry = bySession.get(sessionId)
    bySession.delete(sessionId)
    clearTimeout(entry?.idle)
    const program = await entry?.started.catch(() => undefined)
    await program?.stop()
  }

  const add = (sessionId: string, start: () => Promise<T>): Entry<T> => {
    const entry: Entry<T> = { started: start(), idle: undefined }
    bySession.set(sessionId, entry)
    const forget = () => {
      clearTimeout(entry.idle)
      if (bySession.get(sessionId) === entry) bySession.delete(sessionId)
    }
    entry.started.then(program => program.exited, forget).then(forget, forget)
    return entry
  }

  return {
    /** Number of programs in the pool. */
    get count() {
      return bySession.size
    },

    /** Returns the session's program, and starts one if there is none. It runs until `release` plus the idle time. */
    async take(sessionId: string, start: () => Promise<T>): Promise<T> {
      const entry = bySession.get(sessionId) ?? add(sessionId, start)
      clearTimeout(entry.idle)
      return await entry.started
    },

    /** Marks the session's program as idle. */
    release(sessionId: string): void {
      const entry = bySession.get(sessionId)
      if (!entry) return
      clearTimeout(entry.idle)
      entry.idle = setTimeout(() => void end(sessionId), idleMs)
      entry.idle.unref()
    },

    /** Ends the session's program, if there is one, and waits for that. */
    end,

    async endAll(): Promise<void> {
      await Promise.all([...bySession.keys()].map(end))
    },
  }
}

interface EndedRun {
  readonly pool: { end(sessionId: string): Promise<void> }
  readonly context: Pick<RunContext, 'payer'>
  readonly session: Pick<RunSession, 'id'>
  readonly prompt: RunPrompt
}

/** Ends the session's program when another server owns the session: it must not continue to work there. */
export async function endIfSessionLost({ pool, context, session, prompt }: EndedRun): Promise<void> {
  // Any request about the run rejects once another server owns it.
  await context.payer(prompt).catch(() => pool.end(session.id))
}
