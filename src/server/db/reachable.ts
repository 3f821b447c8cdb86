import { setTimeout as sleep } from 'node:timers/promises'
import { DatabaseUnavailable } from '../platform/errors.ts'
import { isConnectionLoss } from './connect.ts'

interface Patience {
  /** How long to retry, in milliseconds; 0 gives up at the first failure. */
  readonly waitMs: number
  /** Ends the wait. */
  readonly signal?: AbortSignal | undefined
  /** Called once, at the first failure. */
  readonly onWait: (error: unknown) => void
}

const retryMs = 500

/** What `work` returns, retried while the database cannot be reached. Rejects with its last error, other errors at once. */
export async function whenReachable<T>(work: () => Promise<T>, { waitMs, signal, onWait }: Patience): Promise<T> {
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

/** Why the database of `url` cannot be reached, with its address and without its password. */
export function unreachableReason(url: string, error: unknown): string {
  return `cannot reach the database of DATABASE_URL${addressOf(url)}: ${reasonOf(error)}`
}

function addressOf(url: string): string {
  if (!URL.canParse(url)) return ''
  const { host, searchParams } = new URL(url)
  return ` at ${searchParams.get('host') ?? host}`
}

/** For a host with several addresses the message is empty and the reasons are inside. */
export function reasonOf(error: unknown): string {
  if (error instanceof DatabaseUnavailable) return reasonOf(error.cause)
  if (error instanceof AggregateError) return [...new Set(error.errors.map(reasonOf))].join('; ')
  return error instanceof Error ? error.message : String(error)
}
