import { OutboundBlocked } from './outbound.ts'
import { TimedOut } from './small-request.ts'

/** Returns why a receiver of webhooks or replies gave no response. The text is safe to store and to show. */
export function receiverFailure(error: unknown, totalMs: number): string {
  if (error instanceof OutboundBlocked) return error.message
  if (error instanceof TimedOut) return `no complete response within ${totalMs / 1_000} s`
  const { code } = error as NodeJS.ErrnoException
  return `receiver is unreachable${typeof code === 'string' ? ` (${code})` : ''}`
}
