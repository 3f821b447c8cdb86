import { anthropicTypeOf, type ErrorCode } from '../../../contract/errors.ts'
import { sseFrame } from '../../../contract/sse.ts'

/** A ping as Anthropic sends it. */
export const pingFrame: Buffer = Buffer.from('event: ping\ndata: {"type": "ping"}\n\n')

interface StreamError {
  readonly code: ErrorCode
  readonly message: string
  readonly requestId: string
}

/** The one frame that tells a client that its stream broke. Nothing follows it. */
export function errorFrame({ code, message, requestId }: StreamError): Buffer {
  const error = { type: anthropicTypeOf(code), message }
  return Buffer.from(
    sseFrame({ event: 'error', data: JSON.stringify({ type: 'error', error, request_id: requestId }) }),
  )
}
