import type { FastifyReply } from 'fastify'
import { unchanged } from '../client/authorize.ts'
import { sessionHeader } from '../client/legacy.ts'
import { bodyOfAnswer, textOfAnswer } from '../client/read-answer.ts'
import type { UpstreamAnswer } from '../client/upstream.ts'
import type { RegisteredServer, ToolRule } from '../registry/server.ts'
import { filteredText } from './policy.ts'
import { relayEvents } from './relay.ts'
import type { Posted } from './request.ts'

interface Passing {
  readonly server: RegisteredServer
  readonly found: UpstreamAnswer
  /** Body of the answer, if it was read already. */
  readonly text: string | undefined
  readonly rule: ToolRule
  readonly posted: Posted | undefined
  /** Session id for the client. */
  readonly shownId: string | undefined
  readonly signal: AbortSignal
}

/** Passes status, content type, session id and body on. */
export async function passAnswer(reply: FastifyReply, passing: Passing): Promise<void> {
  const { server, found, rule, posted, shownId, signal } = passing
  const headers: Record<string, string> = { 'request-id': reply.request.id }
  if (found.contentType !== '') headers['content-type'] = String(found.headers['content-type'])
  if (shownId !== undefined) headers[sessionHeader] = shownId
  if (typeof found.headers['allow'] === 'string') headers['allow'] = found.headers['allow']
  if (found.contentType === 'text/event-stream') {
    reply.hijack()
    const stream = { ...headers, 'cache-control': 'no-cache, no-transform', 'x-accel-buffering': 'no' }
    await relayEvents(reply.raw, {
      server,
      answer: found,
      rule,
      ids: posted?.ids ?? [],
      isEndless: posted?.ids.length !== 1 || posted.isListening,
      headers: stream,
      signal,
    })
    return
  }
  const body = await shownBody(passing)
  reply.hijack()
  headers['content-length'] = String(Buffer.byteLength(body))
  reply.raw.writeHead(found.status, headers)
  reply.raw.end(body)
}

/** Returns the body for the client. It stays bytes unless something in it may have to be removed. */
async function shownBody({ server, found, text: given, rule }: Passing): Promise<Buffer | string> {
  if (given === undefined && !rule && found.scrub === unchanged) return bodyOfAnswer(found, server)
  const text = given ?? (await textOfAnswer(found, server))
  return rule ? filteredText(text, rule) : text
}
