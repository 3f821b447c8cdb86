import { randomUUID } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { mcpAggregateRoutes } from '../../../contract/mcp-proxy.ts'
import { sseFrame } from '../../../contract/sse.ts'
import type { Caller } from '../../http/caller.ts'
import { jsonRpcError } from '../../http/json-rpc-error.ts'
import { AppError, invalid } from '../../platform/errors.ts'
import { isRecord, type Json, nonEmptyText, recordOf } from '../../platform/json.ts'
import { failureResponse, isResponse, RpcFailure, type RpcMessage } from '../client/json-rpc.ts'
import { sessionHeader } from '../client/legacy.ts'
import { isModern, statusOfFailure, statusOfModern } from '../client/modern-request.ts'
import { rejectForeignOrigin } from '../proxy/origin.ts'
import type { SessionIds } from '../proxy/session-ids.ts'
import type { Aggregate } from './aggregate.ts'

interface Deps {
  readonly aggregate: Aggregate
  readonly sessionIds: SessionIds
  readonly publicUrl: () => string
}

/** In the place of a server in session ids. */
const ownServer = { server_id: 'switchyard', url: '' }

/** Serves `/mcp`: one MCP server with the tools of all servers. */
export function serveMcpAggregate(app: FastifyInstance, deps: Deps): void {
  const route = mcpAggregateRoutes.post
  /** Open calls of sessions, for cancellations. */
  const inFlight = new Map<string, AbortController>()

  app.route<{ Body: unknown }>({
    method: route.method,
    url: route.path,
    config: { route },
    bodyLimit: route.bodyLimit,
    async handler(request, reply) {
      const { headers, caller, body } = request
      rejectForeignOrigin(headers, deps.publicUrl)
      if (!isRecord(body)) throw invalid('request body must be one JSON-RPC message')
      const session = sessionOf(request.headers[sessionHeader], caller, deps)
      const { id, method, params } = body
      if (method === 'notifications/cancelled') inFlight.get(keyOf(session, recordOf(params)['requestId']))?.abort()
      if (id === undefined || id === null || isResponse(body)) return reply.code(202).send()
      if (method === 'initialize')
        reply.header(
          sessionHeader,
          deps.sessionIds.wrap(randomUUID(), { server: ownServer, principal: caller.principal }),
        )
      const cancel = new AbortController()
      reply.raw.once('close', () => reply.raw.writableFinished || cancel.abort())
      const key = keyOf(session, id)
      if (session !== undefined) inFlight.set(key, cancel)
      try {
        await answer(request, reply, { message: body, signal: cancel.signal, aggregate: deps.aggregate })
      } finally {
        if (inFlight.get(key) === cancel) inFlight.delete(key)
      }
      return reply
    },
  })
}

const keyOf = (session: string | undefined, id: unknown): string => JSON.stringify([session, id])

/** Returns the session of a request. Throws `not_found` for one of another principal. */
function sessionOf(header: unknown, { principal }: Caller, { sessionIds }: Deps): string | undefined {
  const given = nonEmptyText(header)
  return given === undefined ? undefined : sessionIds.unwrap(given, { server: ownServer, principal })
}

interface Answering {
  readonly message: RpcMessage
  readonly signal: AbortSignal
  readonly aggregate: Aggregate
}

/** Answers with JSON, or with an event stream for a call that reports progress. */
async function answer(
  request: FastifyRequest,
  reply: FastifyReply,
  { message, signal, aggregate }: Answering,
): Promise<void> {
  const id = message['id'] as string | number
  const header = (name: string): string | undefined => nonEmptyText(request.headers[name])
  const token = recordOf(recordOf(message['params'])['_meta'])['progressToken']
  const accepts = message['method'] === 'tools/call' && /text\/event-stream/i.test(header('accept') ?? '')
  const send = (frame: Json): void => {
    if (!reply.raw.headersSent) {
      reply.hijack()
      reply.raw.writeHead(200, {
        'content-type': 'text/event-stream',
        'cache-control': 'no-cache, no-transform',
        'request-id': request.id,
      })
    }
    reply.raw.write(sseFrame({ event: 'message', data: JSON.stringify(frame) }))
  }
  const sendBefore = (frame: Json): void => {
    if (accepts && !signal.aborted) send(frame)
  }
  const onProgress = (progress: Json): void => {
    if (token === undefined) return
    sendBefore({ jsonrpc: '2.0', method: 'notifications/progress', params: { ...progress, progressToken: token } })
  }
  const outcome = await outcomeOf(
    aggregate.resultOf({ message, caller: request.caller, header, signal, onProgress, send: sendBefore }),
    id,
  )
  if (signal.aborted && reply.raw.destroyed) return
  if (reply.raw.headersSent) {
    send(outcome.body)
    reply.raw.end()
    return
  }
  await reply.code(isModern(message) ? outcome.status : 200).send(outcome.body)
}

interface Outcome {
  readonly status: number
  readonly body: Json
}

/** Returns the response of a request. Modern clients get the status of an error too, older ones only its code. */
async function outcomeOf(result: Promise<Json>, id: string | number): Promise<Outcome> {
  try {
    return { status: 200, body: { jsonrpc: '2.0', id, result: await result } }
  } catch (error) {
    if (error instanceof RpcFailure) return { status: statusOfFailure(error), body: failureResponse(error, id) }
    if (!(error instanceof AppError) || error.code === 'internal') throw error
    const body = jsonRpcError(error, id)
    return { status: statusOfModern(Number(error.fields['rpc'])), body }
  }
}
