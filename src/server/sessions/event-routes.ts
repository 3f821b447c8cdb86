import type { FastifyInstance, FastifyRequest } from 'fastify'
import { eventRoutes } from '../../contract/event-routes.ts'
import { bind, routeSchema } from '../http/bind.ts'
import type { Caller } from '../http/caller.ts'
import { createdRange } from '../http/created-range.ts'
import { fastifyPath } from '../http/paths.ts'
import type { StreamSlots } from '../http/stream-slots.ts'
import type { WriteTurns } from '../http/write-turns.ts'
import type { Keys } from '../keys/keys.ts'
import { invalid, notFound } from '../platform/errors.ts'
import type { EventStore, ListPage } from './log/event-store.ts'
import type { LiveEvents } from './log/live-events.ts'
import { pollUntil } from './log/poll-until.ts'
import { writeEventStream } from './log/stream.ts'
import type { TicketStore } from './log/ticket-store.ts'
import type { Sessions } from './sessions.ts'

interface Deps {
  readonly sessions: Sessions
  readonly store: EventStore
  readonly live: LiveEvents
  readonly tickets: TicketStore
  readonly keys: Pick<Keys, 'watch'>
  readonly slots: StreamSlots
  readonly turns: WriteTurns
  readonly shutdown: AbortSignal
}

interface Wait {
  readonly id: string
  readonly seconds: number
  readonly caller: Caller
  /** Aborts when the client disconnects. */
  readonly disconnected: AbortSignal
}

const emptyPage: ListPage = { data: [], hasMore: false }

const defaultLimit = 100
/** Above any event number. */
const pastTheEnd = Number.MAX_SAFE_INTEGER

/** Serves the event routes: list, send, stream. The events of a deleted session stay readable until they are purged. */
export function serveEvents(app: FastifyInstance, deps: Deps): void {
  const { sessions, store, live, tickets, keys, slots, turns, shutdown } = deps

  /** Returns the page of `load`; if it is empty, waits up to `seconds` for events. */
  async function awaited(
    load: () => Promise<ListPage>,
    { id, seconds, caller, disconnected }: Wait,
  ): Promise<ListPage> {
    const release = slots.take(caller)
    const watched = keys.watch(caller)
    try {
      const signal = AbortSignal.any([disconnected, shutdown, watched.signal, AbortSignal.timeout(seconds * 1000)])
      const some = async () => {
        const page = await load()
        return page.data.length > 0 ? page : undefined
      }
      return (await pollUntil({ live, sessionId: id, signal, checkMs: () => 2_000 }, some)) ?? emptyPage
    } finally {
      watched.close()
      release()
    }
  }

  bind(app, eventRoutes.list, async ({ params, query }, caller, { signal: disconnected }) => {
    const { id, deleted_at } = await sessions.withLog(params.session_id, caller)
    const { order = 'asc', limit = defaultLimit, wait = 0 } = query
    if (wait > 0 && order === 'desc') throw invalid('wait requires order asc')
    const after = Number(query.after ?? query.page ?? (order === 'asc' ? 0 : pastTheEnd))
    const types = typesOf(query.types ?? query['types[]'])
    const load = () => store.list({ sessionId: id, after, limit, order, types, ...createdRange(query) })
    const mayWait = wait > 0 && deleted_at === null
    const { data, hasMore } = mayWait ? await awaited(load, { id, seconds: wait, caller, disconnected }) : await load()
    const last = data.at(-1)
    return { data: [...data], next_page: hasMore && last ? String(last.seq) : null }
  })

  bind(app, eventRoutes.send, async ({ params, body }, caller) => ({
    data: await sessions.send(params.session_id, body.events, caller),
  }))

  bind(app, eventRoutes.ticket, async ({ params }, caller) => {
    const { id } = await sessions.withLog(params.session_id, caller)
    return tickets.issue(id, caller)
  })

  const { params, query, responses: _text, ...rest } = routeSchemaOfStream()
  app.route({
    method: 'GET',
    url: fastifyPath(eventRoutes.stream),
    config: { route: eventRoutes.stream },
    schema: { ...rest, params, querystring: query },
    async handler(request, reply) {
      const id = (request.params as { session_id: string }).session_id
      const streamQuery = request.query as StreamQuery
      const session = await sessions.withLog(id, request.caller)
      const after = await positionOf(request, streamQuery, session.id)
      const release = slots.take(request.caller)
      const watched = keys.watch(request.caller)
      reply.hijack()
      await writeEventStream(reply.raw, request.id, {
        live,
        sessionId: id,
        after,
        withPreviews: wantsPreviews(streamQuery),
        isOver: session.deleted_at !== null,
        turns,
        shutdown: AbortSignal.any([shutdown, watched.signal]),
      }).finally(() => {
        watched.close()
        release()
      })
    },
  })

  async function positionOf({ headers }: FastifyRequest, streamQuery: StreamQuery, sessionId: string): Promise<number> {
    const lastEventId = headers['last-event-id']
    if (typeof lastEventId === 'string' && lastEventId !== '') {
      if (!/^\d{1,15}$/.test(lastEventId)) throw invalid('Last-Event-ID must be an event number')
      return Number(lastEventId)
    }
    if (streamQuery.after !== undefined) return Number(streamQuery.after)
    if (streamQuery.from !== 'tail' && !usesManagedAgents(headers)) return 0
    const last = await store.lastSeq(sessionId)
    if (last === undefined) throw notFound('session', sessionId)
    return last
  }
}

/** A Managed Agents client opens one stream per turn and expects only new events. */
const usesManagedAgents = (headers: FastifyRequest['headers']): boolean =>
  String(headers['anthropic-beta'] ?? '').includes('managed-agents-')

interface StreamQuery {
  readonly after?: string
  readonly from?: 'tail'
  readonly event_deltas?: unknown
  readonly 'event_deltas[]'?: unknown
}

/** The handler writes the response itself, so the response schema is for the OpenAPI document only. */
function routeSchemaOfStream() {
  const { response: responses, querystring: query, params, ...rest } = routeSchema(eventRoutes.stream)
  return { responses, query, params, ...rest }
}

function wantsPreviews(streamQuery: StreamQuery): boolean {
  const value = streamQuery.event_deltas ?? streamQuery['event_deltas[]']
  return value !== undefined && value !== false && value !== 0 && value !== '0' && value !== 'false'
}

/** Parses `types=a,b`, `types=a&types=b` and `types[]=a`, which are equivalent. */
function typesOf(value: unknown): string[] | undefined {
  if (value === undefined) return undefined
  const names = (Array.isArray(value) ? value : [value]).flatMap(item => String(item).split(','))
  const types = names.map(name => name.trim()).filter(name => name !== '')
  return types.length === 0 ? undefined : types
}
