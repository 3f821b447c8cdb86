import { createHash, randomUUID } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { mcpOwnRoutes } from '../../../contract/mcp-own.ts'
import { sseFrame } from '../../../contract/sse.ts'
import { eventStreamHeaders, heartbeatMs } from '../../http/frame-writer.ts'
import { idempotencyOf } from '../../http/idempotency.ts'
import { jsonRpcError } from '../../http/json-rpc-error.ts'
import { fastifyPaths } from '../../http/paths.ts'
import type { StreamSlots } from '../../http/stream-slots.ts'
import type { Keys } from '../../keys/keys.ts'
import { AppError, invalid } from '../../platform/errors.ts'
import { isRecord, type Json, nonEmptyText, recordOf } from '../../platform/json.ts'
import { failureResponse, isResponse, RpcFailure, type RpcMessage } from '../client/json-rpc.ts'
import { sessionHeader } from '../client/legacy.ts'
import { isModern, statusOfFailure } from '../client/modern-request.ts'
import { rejectForeignOrigin } from '../proxy/origin.ts'
import type { SessionIds } from '../proxy/session-ids.ts'
import type { AgentCalls } from './agent-calls.ts'
import { canElicit } from './capabilities.ts'
import type { OwnServer } from './own-server.ts'
import type { ApiAnswer } from './read-tools.ts'

interface Deps {
  readonly server: OwnServer
  readonly calls: Pick<AgentCalls, 'cancelCall'>
  readonly sessionIds: SessionIds
  readonly keys: Pick<Keys, 'watch'>
  readonly slots: StreamSlots
  readonly publicUrl: () => string
  readonly shutdown: AbortSignal
}

/** In the place of a server in session ids. */
const place = { server_id: 'switchyard', url: '/mcp/switchyard' }

/** A session of an older revision. Its id carries all of it, so that every process serves it. */
interface OwnSession {
  readonly id: string
  /** True if the client answers questions. */
  readonly elicits: boolean
}

/** Serves this service as an MCP server, in both eras. */
export function serveOwnMcp(app: FastifyInstance, deps: Deps): void {
  const route = mcpOwnRoutes.post
  for (const url of fastifyPaths(route)) {
    app.route({
      method: route.method,
      url,
      config: { route },
      bodyLimit: route.bodyLimit,
      handler: (request, reply) => answer(app, request, { reply, deps }),
    })
  }
}

interface Answering {
  readonly reply: FastifyReply
  readonly deps: Deps
}

async function answer(app: FastifyInstance, request: FastifyRequest, { reply, deps }: Answering): Promise<unknown> {
  const { headers, caller, body } = request
  rejectForeignOrigin(headers, deps.publicUrl)
  if (!isRecord(body)) throw invalid('request body must be one JSON-RPC message')
  const session = sessionOf(headers[sessionHeader], request, deps)
  const { id, method, params } = body
  if (isResponse(body)) await deps.server.takeResponse(body, caller)
  if (method === 'notifications/cancelled' && session)
    await deps.calls.cancelCall(callKey(session, recordOf(params)['requestId']), caller)
  if (typeof id !== 'string' && typeof id !== 'number') return reply.code(202).send()
  if (isResponse(body)) return reply.code(202).send()
  if (method === 'initialize') reply.header(sessionHeader, newSession(body, request, deps))
  const isCall = method === 'tools/call'
  const release = isCall ? deps.slots.take(caller) : () => undefined
  const watched = isCall ? deps.keys.watch(caller) : undefined
  const client = new Connection(request, reply)
  try {
    const ends = [client.disconnected, deps.shutdown, ...(watched ? [watched.signal] : [])]
    const outcome = await outcomeOf(body, () =>
      deps.server.resultOf({
        message: body,
        caller,
        header: name => nonEmptyText(headers[name]),
        read: path => readApi(app, request, path),
        key: isCall ? keyOf(request, session, id) : undefined,
        canAnswer: session?.elicits === true && client.takesEvents,
        signal: AbortSignal.any(ends),
        disconnected: client.disconnected,
        notify: message => client.notify(message),
      }),
    )
    return await client.finish(outcome)
  } finally {
    client.close()
    watched?.close()
    release()
  }
}

/** The connection of a request: answers with JSON, or with an event stream once there is something to send before. */
class Connection {
  readonly #request: FastifyRequest
  readonly #reply: FastifyReply
  readonly #disconnected = new AbortController()
  readonly takesEvents: boolean
  #heartbeat: NodeJS.Timeout | undefined

  constructor(request: FastifyRequest, reply: FastifyReply) {
    this.#request = request
    this.#reply = reply
    this.takesEvents = /text\/event-stream/i.test(request.headers.accept ?? '')
    reply.raw.once('close', () => reply.raw.writableFinished || this.#disconnected.abort())
  }

  get disconnected(): AbortSignal {
    return this.#disconnected.signal
  }

  /** Sends a message before the response; drops it for clients that take no events. */
  notify(message: Json): void {
    if (!this.takesEvents || this.disconnected.aborted) return
    const { raw } = this.#reply
    if (!raw.headersSent) {
      this.#reply.hijack()
      raw.writeHead(200, { ...eventStreamHeaders, 'request-id': this.#request.id })
      this.#heartbeat = setInterval(() => raw.write(': keep-alive\n\n'), heartbeatMs)
    }
    raw.write(sseFrame({ event: 'message', data: JSON.stringify(message) }))
  }

  /** Sends the response. */
  async finish({ status, body }: Outcome): Promise<FastifyReply> {
    const { raw } = this.#reply
    if (this.disconnected.aborted) return this.#reply.hijack()
    if (!raw.headersSent) return this.#reply.code(status).send(body)
    raw.end(sseFrame({ event: 'message', data: JSON.stringify(body) }))
    return this.#reply
  }

  /** Ends a stream that got no response, after an error. */
  close(): void {
    clearInterval(this.#heartbeat)
    if (this.#heartbeat && !this.#reply.raw.writableEnded) this.#reply.raw.end()
  }
}

interface Outcome {
  readonly status: number
  readonly body: Json
}

/** Returns the response of a request. Modern clients get the status of an error too, older ones only its code. */
async function outcomeOf(message: RpcMessage, work: () => Promise<Json>): Promise<Outcome> {
  const id = message['id'] as string | number
  try {
    return { status: 200, body: { jsonrpc: '2.0', id, result: await work() } }
  } catch (error) {
    if (error instanceof RpcFailure)
      return { status: isModern(message) ? statusOfFailure(error) : 200, body: failureResponse(error, id) }
    if (!(error instanceof AppError) || error.code === 'internal' || error.code === 'not_found') throw error
    return { status: 200, body: jsonRpcError(error, id) }
  }
}

/** Returns the id of a new session for the client. */
function newSession({ params }: RpcMessage, { caller }: FastifyRequest, { sessionIds }: Deps): string {
  const session: OwnSession = { id: randomUUID(), elicits: canElicit(recordOf(recordOf(params)['capabilities'])) }
  return sessionIds.wrap(JSON.stringify(session), { server: place, principal: caller.principal })
}

/** Returns the session of a request. Throws `not_found` for one of another principal. */
function sessionOf(header: unknown, { caller }: FastifyRequest, { sessionIds }: Deps): OwnSession | undefined {
  const given = nonEmptyText(header)
  if (given === undefined) return undefined
  return JSON.parse(sessionIds.unwrap(given, { server: place, principal: caller.principal })) as OwnSession
}

const callKey = ({ id }: OwnSession, requestId: unknown): string =>
  createHash('sha256')
    .update(JSON.stringify([id, requestId]))
    .digest('hex')

/**
 * Returns the key under which a call is executed once: that of the header `Idempotency-Key`, or in a session the id of the request,
 * which a client must not use twice.
 */
function keyOf(request: FastifyRequest, session: OwnSession | undefined, id: string | number): string | undefined {
  const given = idempotencyOf(request, mcpOwnRoutes.post, request.caller)?.key
  if (given !== undefined) return given
  return session && callKey(session, id)
}

/** Reads the API like the client itself would: its rights, limits and errors are those of a request of the client. */
async function readApi(app: FastifyInstance, request: FastifyRequest, url: string): Promise<ApiAnswer> {
  const { host, authorization } = request.headers
  const key = nonEmptyText(request.headers['x-api-key'])
  const headers = { ...(host && { host }), ...(authorization && { authorization }), ...(key && { 'x-api-key': key }) }
  const remoteAddress = app.addressOf(request.raw)
  const answered = await app.inject({ method: 'GET', url, headers, ...(remoteAddress && { remoteAddress }) })
  return {
    status: answered.statusCode,
    text: answered.payload,
    nextCursor: nonEmptyText(answered.headers['x-next-cursor']),
  }
}
