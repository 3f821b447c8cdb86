import type { FastifyInstance, FastifyRequest } from 'fastify'
import { eventRoutes } from '../../contract/events.ts'
import { bind, routeSchema } from '../http/bind.ts'
import type { Caller } from '../http/caller.ts'
import { createdRange } from '../http/created-range.ts'
import { fastifyPath } from '../http/paths.ts'
import type { StreamSlots } from '../http/stream-slots.ts'
import type { Keys } from '../keys/keys.ts'
import { invalid, notFound } from '../platform/errors.ts'
import type { EventStore, ListPage } from './log/event-store.ts'
import type { LiveEvents } from './log/live-events.ts'
import { lookUntil } from './log/look-until.ts'
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
  readonly shutdown: AbortSignal
}

interface Wait {
  readonly id: string
  readonly seconds: number
  readonly caller: Caller
  /** Aborts when the client goes away. */
  readonly gone: AbortSignal
}

const nothingYet: ListPage = { data: [], hasMore: false }

const defaultLimit = 100
/** Above any number that a log can reach. */
const pastTheEnd = Number.MAX_SAFE_INTEGER

/** The event routes: list, send, stream. Events stay readable for a while after the session was deleted. */
export function serveEvents(app: FastifyInstance, deps: Deps): void {
  const { sessions, store, live, tickets, keys, slots, shutdown } = deps

  /** The page that `look` finds, after up to `seconds` if it is empty at first. */
  async function awaited(look: () => Promise<ListPage>, { id, seconds, caller, gone }: Wait): Promise<ListPage> {
    const release = slots.take(caller)
    const watched = keys.watch(caller)
    try {
      const signal = AbortSignal.any([gone, shutdown, watched.signal, AbortSignal.timeout(seconds * 1000)])
      const some = async () => {
        const page = await look()
        return page.data.length > 0 ? page : undefined
      }
      return (await lookUntil({ live, sessionId: id, signal, checkMs: 2_000 }, some)) ?? nothingYet
    } finally {
      watched.close()
      release()
    }
  }

  bind(app, eventRoutes.list, async ({ params, query }, caller, { signal: gone }) => {
    const { id, deleted_at } = await sessions.withLog(params.session_id, caller)
    const { order = 'asc', limit = defaultLimit, wait = 0 } = query
    if (wait > 0 && order === 'desc') throw invalid('wait is for events to come: it goes with order asc')
    const after = Number(query.after ?? query.page ?? (order === 'asc' ? 0 : pastTheEnd))
    const types = typesOf(query.types ?? query['types[]'])
    const look = () => store.list({ sessionId: id, after, limit, order, types, ...createdRange(query) })
    const mayWait = wait > 0 && deleted_at === null
    const { data, hasMore } = mayWait ? await awaited(look, { id, seconds: wait, caller, gone }) : await look()
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
      const asked = request.query as StreamQuery
      const session = await sessions.withLog(id, request.caller)
      const after = await positionOf(request, asked, session.id)
      const release = slots.take(request.caller)
      const watched = keys.watch(request.caller)
      reply.hijack()
      await writeEventStream(reply.raw, request.id, {
        live,
        sessionId: id,
        after,
        withPreviews: wantsPreviews(asked),
        isOver: session.deleted_at !== null,
        shutdown: AbortSignal.any([shutdown, watched.signal]),
      }).finally(() => {
        watched.close()
        release()
      })
    },
  })

  async function positionOf({ headers }: FastifyRequest, asked: StreamQuery, sessionId: string): Promise<number> {
    const lastEventId = headers['last-event-id']
    if (typeof lastEventId === 'string' && lastEventId !== '') {
      if (!/^\d{1,15}$/.test(lastEventId)) throw invalid('Last-Event-ID must be the number of an event')
      return Number(lastEventId)
    }
    if (asked.after !== undefined) return Number(asked.after)
    if (asked.from !== 'tail' && !speaksManagedAgents(headers)) return 0
    const last = await store.lastSeq(sessionId)
    if (last === undefined) throw notFound('session', sessionId)
    return last
  }
}

/** A program of the Managed Agents dialect opens a stream for each turn and expects what happens from now on. */
const speaksManagedAgents = (headers: FastifyRequest['headers']): boolean =>
  String(headers['anthropic-beta'] ?? '').includes('managed-agents-')

interface StreamQuery {
  readonly after?: string
  readonly from?: 'tail'
  readonly event_deltas?: unknown
  readonly 'event_deltas[]'?: unknown
}

/** The stream writes its own answer, so its response schema is for the document alone. */
function routeSchemaOfStream() {
  const { response: responses, querystring: query, params, ...rest } = routeSchema(eventRoutes.stream)
  return { responses, query, params, ...rest }
}

function wantsPreviews(asked: StreamQuery): boolean {
  const value = asked.event_deltas ?? asked['event_deltas[]']
  return value !== undefined && value !== false && value !== 0 && value !== '0' && value !== 'false'
}

/** `types=a,b`, `types=a&types=b` and `types[]=a` all mean the same. */
function typesOf(value: unknown): string[] | undefined {
  if (value === undefined) return undefined
  const names = (Array.isArray(value) ? value : [value]).flatMap(item => String(item).split(','))
  const types = names.map(name => name.trim()).filter(name => name !== '')
  return types.length === 0 ? undefined : types
}
