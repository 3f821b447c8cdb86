import { OutboundBlocked } from './outbound.ts'
import { TimedOut } from './small-request.ts'

/** Returns why a receiver of webhooks or replies gave no response. The text is safe to store and to show. */
export function receiverFailure(error: unknown, totalMs: number): string {
  if (error instanceof OutboundBlocked) return error.message
  if (error instanceof TimedOut) return `no complete response within ${totalMs / 1_000} s`
  const { code } = error as NodeJS.ErrnoException
  return `receiver is unreachable${typeof code === 'string' ? ` (${code})` : ''}`
}

/** Returns why a response with this status is a failure; undefined for a success. Redirects are not followed. */
export function statusFailure(status: number): string | undefined {
  if (status >= 200 && status < 300) return undefined
  if (status >= 300 && status < 400) return `receiver returned a redirect (status ${status}), which is not followed`
  return `receiver returned status ${status}`
}
