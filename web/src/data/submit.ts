import { type FormEvent, useState } from 'react'
import { reportError } from './queries.ts'

/** State of a form or a button that sends something. */
export interface Submit {
  readonly isRunning: boolean
  readonly error: unknown
  /** Runs the work; for `onSubmit` of a form, too. A second call while it runs is ignored. */
  readonly send: (event?: FormEvent) => Promise<void>
  readonly clear: () => void
}

/**
 * Runs work that a person has started, and keeps its error until the next time. Unlike `useMutation` it retains no
 * result, so work may handle secrets.
 */
export function useSubmit(work: () => Promise<unknown>): Submit {
  const [isRunning, setRunning] = useState(false)
  const [error, setError] = useState<unknown>()
  const send = async (event?: FormEvent): Promise<void> => {
    event?.preventDefault()
    if (isRunning) return
    setRunning(true)
    setError(undefined)
    try {
      await work()
    } catch (failure) {
      reportError(failure)
      setError(failure)
    } finally {
      setRunning(false)
    }
  }
  return { isRunning, error, send, clear: () => setError(undefined) }
}
