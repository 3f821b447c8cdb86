import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { maxMcpBytes, ownServerName } from '../../../contract/mcp.ts'
import { mcpProxyRoutes } from '../../../contract/mcp-proxy.ts'
import { rejectEncoded } from '../../http/json-body.ts'
import { jsonRpcError } from '../../http/json-rpc-error.ts'
import { fastifyPaths } from '../../http/paths.ts'
import { receivedBody } from '../../http/receive-body.ts'
import type { StreamSlots } from '../../http/stream-slots.ts'
import type { Keys } from '../../keys/keys.ts'
import { AppError } from '../../platform/errors.ts'
import { nonEmptyText } from '../../platform/json.ts'
import type { ProgramServer } from '../agents/program-server.ts'
import type { Bridge, Incoming } from '../bridge/bridge.ts'
import { isBridgedId } from '../bridge/legacy-session.ts'
import type { McpCallLog } from '../calls/call-log.ts'
import { sessionHeader } from '../client/legacy.ts'
import { textOfAnswer } from '../client/read-answer.ts'
import type { Upstream } from '../client/upstream.ts'
import { type RegisteredServer, type ToolRule, toolRuleOf } from '../registry/server.ts'
import type { McpServers } from '../registry/servers.ts'
import { observeAnswer } from './observed-answer.ts'
import { rejectForeignOrigin } from './origin.ts'
import { passAnswer } from './pass-answer.ts'
import { DeniedCall, forwardedHeaders, type Posted, readPosted } from './request.ts'
import type { SessionIds } from './session-ids.ts'

interface Deps {
  readonly servers: Pick<McpServers, 'find'>
  readonly upstream: Upstream
  readonly sessionIds: SessionIds
  readonly bridge: Pick<Bridge, 'serves' | 'isSuspect' | 'takesOver'>
  readonly calls: Pick<McpCallLog, 'begin'>
  readonly keys: Pick<Keys, 'watch'>
  readonly slots: StreamSlots
  readonly publicUrl: () => string
  readonly shutdown: AbortSignal
  /** Answers programs of sessions, which use only the servers of their run. */
  readonly answerProgram: ProgramServer
}

/** Maximum time until the headers of an answer. */
const silenceMs = 60_000

/** Serves MCP of the registered servers, in both eras. Dialects: section 6. */
export function serveMcpProxy(app: FastifyInstance, deps: Deps): void {
  for (const route of Object.values(mcpProxyRoutes)) {
    for (const url of fastifyPaths(route)) {
      app.route<{ Params: { server: string } }>({
        method: route.method,
        url,
        config: { route },
        // A hook, because the body is passed on as it was sent, and Fastify would parse it first.
        onRequest(request, reply, fail) {
          answer(request as FastifyRequest<{ Params: { server: string } }>, reply, deps).catch(fail)
        },
        handler: () => {
          throw new AppError('internal', 'a hook of this route answers before its handler (bug)')
        },
      })
    }
  }
}

async function answer(
  request: FastifyRequest<{ Params: { server: string } }>,
  reply: FastifyReply,
  deps: Deps,
): Promise<void> {
  const { caller, headers } = request
  rejectForeignOrigin(headers, deps.publicUrl)
  if (request.params.server === ownServerName) throw onlyPost(request.method)
  if (caller.behalf) return deps.answerProgram(request, reply, request.params.server)
  const server = await deps.servers.find(request.params.server, caller)
  const rule = toolRuleOf(server, caller.key)
  const given = nonEmptyText(headers[sessionHeader])
  const session =
    given === undefined || isBridgedId(given)
      ? undefined
      : deps.sessionIds.unwrap(given, { server, principal: caller.principal })
  const posted = request.method === 'POST' ? await postedBy(request, rule) : undefined
  if (posted instanceof DeniedCall) {
    await reply.code(200).send(jsonRpcError(posted, posted.id))
    return
  }
  const release = isStream(request.method, posted) ? deps.slots.take(caller) : () => undefined
  const watched = deps.keys.watch(caller)
  const end = beginCalls(request, reply, { server, posted, calls: deps.calls })
  try {
    await forward(request, reply, { deps, server, rule, given, session, posted, revoked: watched.signal })
  } finally {
    watched.close()
    release()
    end()
  }
}

interface Calling extends Pick<Deps, 'calls'> {
  readonly server: RegisteredServer
  readonly posted: Posted | undefined
}

/** Starts the clock of the calls in a body; the returned function records them. */
function beginCalls({ caller }: FastifyRequest, { raw }: FastifyReply, { server, posted, calls }: Calling): () => void {
  if (!posted || posted.tools.length === 0) return () => undefined
  const requestBytes = Buffer.byteLength(posted.body)
  const observed = observeAnswer(raw)
  const ends = posted.tools.map(tool => calls.begin({ server, tool, by: caller, via: 'proxy', requestBytes }))
  return () => {
    for (const end of ends) end(observed())
  }
}

interface Forwarding {
  readonly deps: Pick<Deps, 'upstream' | 'sessionIds' | 'bridge' | 'shutdown'>
  readonly server: RegisteredServer
  readonly rule: ToolRule
  /** Session id of the client, and the one of the server for it. */
  readonly given: string | undefined
  readonly session: string | undefined
  readonly posted: Posted | undefined
  readonly revoked: AbortSignal
}

/** Answers a checked request. */
async function forward(request: FastifyRequest, reply: FastifyReply, sent: Forwarding): Promise<void> {
  const { deps, server, rule, given, posted, revoked } = sent
  const wait = untilEnd(reply, isStream(request.method, posted) ? [revoked, deps.shutdown] : [revoked])
  const { signal } = wait
  const { messages = [], isBatch = false } = posted ?? {}
  const incoming = { request, reply, server, rule, given, messages, isBatch, signal }
  try {
    if (!(await deps.bridge.serves(incoming))) await relay(incoming, sent)
  } catch (error) {
    if (wait.isDisconnected()) return
    if (revoked.aborted) throw new AppError('unauthorized', 'unauthorized')
    if (signal.aborted) throw new AppError('unavailable', 'the process stops; retry after 1 s')
    answerFailure(error, reply, posted)
  } finally {
    wait.release()
  }
}

/** Returns a signal that aborts when the client disconnects or one of `ends` does. */
function untilEnd({ raw }: FastifyReply, ends: readonly AbortSignal[]) {
  const end = new AbortController()
  let isDisconnected = false
  const abort = (): void => end.abort()
  for (const signal of ends) {
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort)
  }
  raw.once('close', () => {
    if (raw.writableFinished) return
    isDisconnected = true
    abort()
  })
  return {
    signal: end.signal,
    isDisconnected: () => isDisconnected,
    release(): void {
      for (const signal of ends) signal.removeEventListener('abort', abort)
    },
  }
}

/** Sends a request to the server and passes its answer back, unless the answer means that it is of the other era. */
async function relay(incoming: Incoming, { deps, session, posted }: Forwarding): Promise<void> {
  const { upstream, sessionIds, bridge } = deps
  const { request, reply, server, rule, given, signal } = incoming
  const headers = forwardedHeaders(request.headers)
  if (session !== undefined) headers[sessionHeader] = session
  const found = await upstream.exchange(server, {
    method: request.method as 'GET' | 'POST' | 'DELETE',
    headers,
    body: posted?.body,
    signal,
    silenceMs,
    gapMs: 0,
  })
  const isRejection = found.contentType !== 'text/event-stream' && bridge.isSuspect(incoming, found.status)
  const text = isRejection ? await textOfAnswer(found, server) : undefined
  if (text !== undefined && (await bridge.takesOver(incoming, { status: found.status, text }))) return
  const upstreamId = nonEmptyText(found.headers[sessionHeader])
  const place = { server, principal: request.caller.principal }
  const shownId = upstreamId === session ? given : upstreamId && sessionIds.wrap(upstreamId, place)
  await passAnswer(reply, { server, found, text, rule, posted, shownId, signal })
}

/** For the service itself, whose only route is in another folder: it has no streams and no sessions to end. */
const onlyPost = (method: string): AppError =>
  new AppError('method_not_allowed', `method ${method} is not allowed here; use POST`, { headers: { allow: 'POST' } })

/** True for streams without an end of their own: that of a session, and subscriptions. */
const isStream = (method: string, posted: Posted | undefined): boolean =>
  method === 'GET' || posted?.isListening === true

async function postedBy({ raw, headers }: FastifyRequest, rule: ToolRule): Promise<Posted | DeniedCall> {
  rejectEncoded(headers)
  const body = await receivedBody(raw, maxMcpBytes)
  try {
    return readPosted(body, headers, rule)
  } catch (error) {
    if (error instanceof DeniedCall) return error
    throw error
  }
}

/** Answers a failure with the id of the request, so that its client does not wait for a response. */
function answerFailure(error: unknown, reply: FastifyReply, posted: Posted | undefined): void {
  const id = posted?.ids.length === 1 ? (posted.ids[0] ?? null) : null
  if (!(error instanceof AppError) || id === null || reply.sent) throw error
  const status = error.code === 'upstream_timeout' ? 504 : error.code === 'upstream_unreachable' ? 502 : undefined
  if (status === undefined) throw error
  void reply.code(status).send(jsonRpcError(error, id))
}
