import type { FastifyReply } from 'fastify'
import type { Sink } from './call.ts'

/** A sink that is an HTTP answer. The reply is taken over with the first byte; before that an error can still be sent. */
export function httpSink(reply: FastifyReply, ownHeaders: Headers): Sink {
  const response = reply.raw
  return {
    head(status, headers) {
      reply.hijack()
      response.writeHead(status, listed(ownHeaders, headers))
      // A stream's head goes out at once; a short answer leaves in one write with its body.
      if (headers['content-length'] === undefined) response.flushHeaders()
    },
    data: chunk => response.write(chunk),
    onDrain: resume => void response.once('drain', resume),
    end: chunk => void (chunk === undefined ? response.end() : response.end(chunk)),
  }
}

type Headers = Readonly<Record<string, string>>

/** Names and values in turns, as HTTP wants them in the end: one more object a call would be made only to be read once. */
function listed(own: Headers, given: Headers): string[] {
  const list: string[] = []
  for (const name in own) if (!(name in given)) list.push(name, own[name] ?? '')
  for (const name in given) list.push(name, given[name] ?? '')
  return list
}
