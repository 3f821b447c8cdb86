import { setTimeout as sleep } from 'node:timers/promises'
import { DatabaseUnavailable } from '../platform/errors.ts'
import { isConnectionLoss } from './connect.ts'

interface RetryOptions {
  /** How long to retry, in milliseconds; 0 rejects after the first failure. */
  readonly waitMs: number
  /** Ends the wait. */
  readonly signal?: AbortSignal | undefined
  /** Called once, after the first failure. */
  readonly onWait: (error: unknown) => void
}

const retryMs = 500

/**
 * Runs `work`, with retries while the database is unreachable. Rejects with its last error, and with other errors at
 * once.
 */
export async function whenReachable<T>(work: () => Promise<T>, { waitMs, signal, onWait }: RetryOptions): Promise<T> {
  const deadline = performance.now() + waitMs
  let hasWaited = false
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!isConnectionLoss(error) || performance.now() + retryMs > deadline) throw error
      if (!hasWaited) onWait(error)
      hasWaited = true
      await sleep(retryMs, undefined, { signal }).catch(() => {
        throw error
      })
    }
  }
}

/** Returns why the database of `url` is unreachable, with its address and without its password. */
export function unreachableReason(url: string, error: unknown): string {
  return `cannot reach the database of DATABASE_URL${addressOf(url)}: ${reasonOf(error)}`
}

function addressOf(url: string): string {
  if (!URL.canParse(url)) return ''
  const { host, searchParams } = new URL(url)
  return ` at ${searchParams.get('host') ?? host}`
}

/** Returns the message of an error. AggregateError, for hosts with several addresses, has no message of its own. */
export function reasonOf(error: unknown): string {
  if (error instanceof DatabaseUnavailable) return reasonOf(error.cause)
  if (error instanceof AggregateError) return [...new Set(error.errors.map(reasonOf))].join('; ')
  return error instanceof Error ? error.message : String(error)
}
