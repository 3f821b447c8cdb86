import { createHash } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { a2aRoutes } from '../../contract/a2a.ts'
import type { A2aSendRequest } from '../../contract/a2a-objects.ts'
import type { Route } from '../../contract/route.ts'
import type { Authenticate } from '../http/auth.ts'
import { bind, type Meta, routeSchema } from '../http/bind.ts'
import { type Caller, masterCaller } from '../http/caller.ts'
import { fastifyPath } from '../http/paths.ts'
import { notForPrograms } from '../http/reach.ts'
import type { WriteTurns } from '../http/write-turns.ts'
import { AppError } from '../platform/errors.ts'
import { callOf, versionOf } from './call.ts'
import { cardOf, settingsOf } from './card.ts'
import {
  type A2aCall,
  createOperations,
  noExtendedCard,
  type OperationDeps,
  servedAgent,
  type TaskStream,
} from './operations.ts'
import { serveRpc } from './rpc.ts'
import { writeTaskStream } from './stream.ts'

interface Deps extends OperationDeps {
  readonly authenticate: Authenticate
  readonly publicUrl: () => string
  readonly turns: WriteTurns
}

/** Serves agents by A2A: their cards, and both bindings. */
export function serveA2a(app: FastifyInstance, deps: Deps): void {
  const operations = createOperations(deps)
  serveCard(app, deps)
  serveRpc(app, { operations, turns: deps.turns })

  bind(app, a2aRoutes.send, ({ params, query, body }, caller, meta) =>
    operations.send(body, restCall(params, query, caller, meta)),
  )
  bind(app, a2aRoutes.list, ({ params, query }, caller, meta) =>
    operations.list(query, restCall(params, query, caller, meta)),
  )
  bind(app, a2aRoutes.get, ({ params, query }, caller, meta) =>
    operations.get(params.task_id, query.historyLength, restCall(params, query, caller, meta)),
  )
  bind(app, a2aRoutes.cancel, ({ params, query }, caller, meta) =>
    operations.cancel(params.task_id, restCall(params, query, caller, meta)),
  )
  bind(app, a2aRoutes.createPush, ({ params, query, body }, caller, meta) =>
    operations.createPush(params.task_id, body, restCall(params, query, caller, meta)),
  )
  bind(app, a2aRoutes.listPush, ({ params, query }, caller, meta) =>
    operations.listPush(params.task_id, restCall(params, query, caller, meta)),
  )
  bind(app, a2aRoutes.getPush, ({ params, query }, caller, meta) =>
    operations.getPush(params.task_id, params.config_id, restCall(params, query, caller, meta)),
  )
  bind(app, a2aRoutes.removePush, ({ params, query }, caller, meta) =>
    operations.removePush(params.task_id, params.config_id, restCall(params, query, caller, meta)),
  )
  bind(app, a2aRoutes.extendedCard, ({ params, query }, caller, meta) =>
    operations.reject(noExtendedCard(), restCall(params, query, caller, meta)),
  )

  serveStream(app, deps.turns, a2aRoutes.stream, (request, call) =>
    operations.stream(request.body as A2aSendRequest, call),
  )
  for (const route of [a2aRoutes.subscribe, a2aRoutes.subscribeByGet]) {
    serveStream(app, deps.turns, route, ({ params }, call) =>
      operations.subscribe((params as { task_id: string }).task_id, call),
    )
  }
}

/** Returns the call of a request of the HTTP+JSON binding. */
function restCall({ agent }: { readonly agent: string }, query: unknown, caller: Caller, meta: Meta): A2aCall {
  const headers = { 'a2a-version': meta.header('a2a-version') as string | undefined }
  return { agent, caller, version: versionOf({ headers, query }), signal: meta.signal }
}

function serveStream(
  app: FastifyInstance,
  turns: WriteTurns,
  route: Route,
  start: (request: FastifyRequest, call: A2aCall) => Promise<TaskStream>,
): void {
  const { response: _text, ...schema } = routeSchema(route)
  app.route({
    method: route.method,
    url: fastifyPath(route),
    config: { route },
    ...(route.bodyLimit !== undefined && { bodyLimit: route.bodyLimit }),
    schema,
    async handler(request, reply) {
      const call = callOf(request, reply)
      const stream = await start(request, call)
      reply.hijack()
      const options = { requestId: request.id, signal: call.signal, turns, wrap: (frame: object) => frame }
      await writeTaskStream(reply.raw, stream, options)
    },
  })
}

/** Seconds for which clients may keep a card. */
const cardSeconds = 60

/** Bound by hand: a public card needs no key. */
function serveCard(app: FastifyInstance, { agents, authenticate, publicUrl }: Deps): void {
  const route = a2aRoutes.card
  const idOf = ({ params }: FastifyRequest) => (params as { agent: string }).agent

  /** Returns true for a card that everyone may read. */
  async function isPublic(id: string): Promise<boolean> {
    try {
      return settingsOf(await agents.get(id, masterCaller)).hasPublicCard
    } catch (error) {
      if (error instanceof AppError && error.code === 'not_found') return false
      throw error
    }
  }

  app.route({
    method: route.method,
    url: fastifyPath(route),
    config: { route },
    schema: routeSchema(route),
    async onRequest(request: FastifyRequest) {
      if (request.url.includes('%00')) throw new AppError('invalid_request', 'request path contains a NUL character')
      if (await isPublic(idOf(request))) request.caller = masterCaller
      else request.caller = await authenticate(request.raw, 'key')
      if (request.caller.behalf) throw notForPrograms()
    },
    async handler(request: FastifyRequest, reply: FastifyReply) {
      const agent = await servedAgent(agents, idOf(request), request.caller)
      const card = cardOf(agent, publicUrl())
      const etag = `"${createHash('sha256').update(JSON.stringify(card)).digest('hex').slice(0, 32)}"`
      const scope = settingsOf(agent).hasPublicCard ? 'public' : 'private'
      reply.headers({ etag, 'cache-control': `${scope}, max-age=${cardSeconds}` })
      return request.headers['if-none-match'] === etag ? reply.code(304).send() : card
    },
  })
}
