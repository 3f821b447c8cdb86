import type { FastifyReply } from 'fastify'
import { statusOfCode } from '../../../contract/error-codes.ts'
import { sseFrame } from '../../../contract/sse.ts'
import { jsonRpcError } from '../../http/json-rpc-error.ts'
import { AppError } from '../../platform/errors.ts'
import type { Json } from '../../platform/json.ts'
import { failureResponse, RpcFailure } from '../client/json-rpc.ts'
import { statusOfFailure } from '../client/modern-request.ts'
import { maxAnswerBytes } from '../client/read-answer.ts'

/** Answer to one request: JSON, or an event stream from the first message that comes before the response. */
export type ClientReply = ReturnType<typeof createClientReply>

interface Options {
  readonly id: string | number
  /** Value of the header `accept`. */
  readonly accept: string
  readonly isModern: boolean
}

export function createClientReply(reply: FastifyReply, { id, accept, isModern }: Options) {
  const { raw } = reply
  const readsEvents = /text\/event-stream|\*\/\*/i.test(accept)
  let isStream = false

  function open(): void {
    if (isStream) return
    isStream = true
    reply.hijack()
    raw.writeHead(200, {
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
      'request-id': reply.request.id,
    })
    raw.flushHeaders()
  }

  function write(message: Json): void {
    if (raw.destroyed) return
    // A client that does not read must not fill the memory of this process.
    if (raw.writableLength > maxAnswerBytes) return void raw.destroy()
    raw.write(sseFrame({ event: 'message', data: JSON.stringify(message) }))
  }

  async function end(status: number, body: Json): Promise<void> {
    if (isStream) {
      write(body)
      raw.end()
    } else if (!raw.destroyed) await reply.code(status).send(body)
  }

  return {
    /** Whether messages can be sent before the response. */
    readsEvents,

    /** Opens the event stream before its first message. */
    open,

    /** Sends a notification or a request; drops it for a client that reads no event streams. */
    send(message: Json): void {
      if (!readsEvents) return
      open()
      write(message)
    },

    /** Sends a comment, which keeps connections open. */
    comment(): void {
      if (isStream && !raw.destroyed) raw.write(': \n\n')
    },

    /** Sends the result. */
    result: (result: Json): Promise<void> => end(200, { jsonrpc: '2.0', id, result }),

    /** Sends an error. Throws errors that are bugs. */
    async failure(error: unknown): Promise<void> {
      if (error instanceof RpcFailure) return end(isModern ? statusOfFailure(error) : 200, failureResponse(error, id))
      if (!(error instanceof AppError)) throw error
      reply.headers(error.headers)
      return end(statusOfCode(error.code), jsonRpcError(error, id))
    },

    /** Whether the event stream is open. */
    isOpen: (): boolean => isStream,

    /** Ends the answer without a response, as an empty event stream if nothing was sent. */
    close(): void {
      if (raw.destroyed) return
      open()
      raw.end()
    },
  }
}
