import { anthropicError, type ErrorCode } from '../../../contract/errors.ts'
import { sseFrame } from '../../../contract/sse.ts'

/** A ping as Anthropic sends it. */
export const pingFrame: Buffer = Buffer.from('event: ping\ndata: {"type": "ping"}\n\n')

interface StreamError {
  readonly code: ErrorCode
  readonly message: string
  readonly requestId: string
}

/** The one frame that tells a client that its stream broke. Nothing follows it. */
export const errorFrame = ({ code, message, requestId }: StreamError): Buffer =>
  Buffer.from(sseFrame({ event: 'error', data: JSON.stringify(anthropicError(code, message, requestId)) }))
