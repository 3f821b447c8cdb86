import type { FastifyReply } from 'fastify'
import type { Sink } from './call.ts'

/** A sink that is an HTTP answer. The reply is taken over with the first byte; before that an error can still be sent. */
export function httpSink(reply: FastifyReply, ownHeaders: Readonly<Record<string, string>>): Sink {
  const response = reply.raw
  return {
    head(status, headers) {
      reply.hijack()
      response.writeHead(status, { ...ownHeaders, ...headers })
      // A stream's head goes out at once; a short answer leaves in one write with its body.
      if (headers['content-length'] === undefined) response.flushHeaders()
    },
    data: chunk => response.write(chunk),
    onDrain: resume => void response.once('drain', resume),
    end: chunk => void (chunk === undefined ? response.end() : response.end(chunk)),
  }
}
