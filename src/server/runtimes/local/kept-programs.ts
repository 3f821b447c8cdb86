import type { RunContext, RunPrompt, RunSession } from '../runtime.ts'

/** What is kept for a session: a program, and what its protocol knows of it. */
export interface Keepable {
  /** Resolves when the program has ended. */
  readonly exited: Promise<unknown>
  /** Ends the program. */
  stop(): Promise<void>
}

interface Kept<T> {
  readonly started: Promise<T>
  idle: NodeJS.Timeout | undefined
}

/** One program for each session, which stays for a while after a run. */
export type KeptPrograms<T extends Keepable> = ReturnType<typeof createKeptPrograms<T>>

export function createKeptPrograms<T extends Keepable>({ idleMs }: { readonly idleMs: number }) {
  const bySession = new Map<string, Kept<T>>()

  const end = async (sessionId: string): Promise<void> => {
    const kept = bySession.get(sessionId)
    bySession.delete(sessionId)
    clearTimeout(kept?.idle)
    const program = await kept?.started.catch(() => undefined)
    await program?.stop()
  }

  const keep = (sessionId: string, start: () => Promise<T>): Kept<T> => {
    const kept: Kept<T> = { started: start(), idle: undefined }
    bySession.set(sessionId, kept)
    const forget = () => {
      clearTimeout(kept.idle)
      if (bySession.get(sessionId) === kept) bySession.delete(sessionId)
    }
    kept.started.then(program => program.exited, forget).then(forget, forget)
    return kept
  }

  return {
    /** How many are kept. */
    get count() {
      return bySession.size
    },

    /** The program of the session, started now if there is none. It stays until `release` and the time after that. */
    async take(sessionId: string, start: () => Promise<T>): Promise<T> {
      const kept = bySession.get(sessionId) ?? keep(sessionId, start)
      clearTimeout(kept.idle)
      return await kept.started
    },

    /** Nobody uses it for now. */
    release(sessionId: string): void {
      const kept = bySession.get(sessionId)
      if (!kept) return
      clearTimeout(kept.idle)
      kept.idle = setTimeout(() => void end(sessionId), idleMs)
      kept.idle.unref()
    },

    /** Ends the program of a session, and waits; nothing happens when there is none. */
    end,

    async endAll(): Promise<void> {
      await Promise.all([...bySession.keys()].map(end))
    },
  }
}

interface Ended {
  readonly kept: { end(sessionId: string): Promise<void> }
  readonly context: Pick<RunContext, 'payer'>
  readonly session: Pick<RunSession, 'id'>
  readonly prompt: RunPrompt
}

/** A program must not go on working for a session that another server has now. */
export async function endWhereLost({ kept, context, session, prompt }: Ended): Promise<void> {
  // Whatever asks about the run rejects once it is another's.
  await context.payer(prompt).catch(() => kept.end(session.id))
}
