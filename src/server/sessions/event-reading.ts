import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Caller } from '../http/caller.ts'
import { type CreatedQuery, createdRange } from '../http/created-range.ts'
import type { StreamSlots } from '../http/stream-slots.ts'
import type { WriteTurns } from '../http/write-turns.ts'
import type { Keys } from '../keys/keys.ts'
import { invalid, notFound } from '../platform/errors.ts'
import type { EventStore, ListPage } from './log/event-store.ts'
import type { LiveEvents } from './log/live-events.ts'
import { pollUntil } from './log/poll-until.ts'
import { writeEventStream } from './log/stream.ts'
import type { SessionWithLog } from './session-store.ts'

interface Deps {
  readonly store: EventStore
  readonly live: LiveEvents
  readonly keys: Pick<Keys, 'watch'>
  readonly slots: StreamSlots
  readonly turns: WriteTurns
  readonly shutdown: AbortSignal
}

/** Query of a list of events. */
export interface ListQuery extends CreatedQuery {
  readonly after?: string
  readonly page?: string
  readonly limit?: number
  readonly order?: 'asc' | 'desc'
  readonly types?: unknown
  readonly 'types[]'?: unknown
  readonly wait?: number
}

/** Query of a stream of events. */
export interface StreamQuery {
  readonly after?: string
  readonly from?: 'tail'
  readonly event_deltas?: unknown
  readonly 'event_deltas[]'?: unknown
}

interface Reader {
  readonly caller: Caller
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal
}

interface Wait extends Reader {
  readonly id: string
  readonly seconds: number
}

const emptyPage: ListPage = { data: [], hasMore: false }

const defaultLimit = 100
/** Above any event number. */
const pastTheEnd = Number.MAX_SAFE_INTEGER

/** Reads the logs of sessions for clients: pages, and streams of events. Access is checked by the routes. */
export type EventReading = ReturnType<typeof createEventReading>

export function createEventReading({ store, live, keys, slots, turns, shutdown }: Deps) {
  /** Returns the page of `load`; if it is empty, waits up to `seconds` for events. */
  async function awaited(load: () => Promise<ListPage>, { id, seconds, caller, signal }: Wait): Promise<ListPage> {
    const release = slots.take(caller)
    const watched = keys.watch(caller)
    try {
      const ends = AbortSignal.any([signal, shutdown, watched.signal, AbortSignal.timeout(seconds * 1000)])
      const some = async () => {
        const page = await load()
        return page.data.length > 0 ? page : undefined
      }
      return (await pollUntil({ live, sessionId: id, signal: ends, checkMs: () => 2_000 }, some)) ?? emptyPage
    } finally {
      watched.close()
      release()
    }
  }

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

  return {
    /** Returns a page of a session's events. */
    async list({ id, deleted_at }: SessionWithLog, query: ListQuery, reader: Reader) {
      const { order = 'asc', limit = defaultLimit, wait = 0 } = query
      if (wait > 0 && order === 'desc') throw invalid('wait requires order asc')
      const after = Number(query.after ?? query.page ?? (order === 'asc' ? 0 : pastTheEnd))
      const types = typesOf(query.types ?? query['types[]'])
      const load = () => store.list({ sessionId: id, after, limit, order, types, ...createdRange(query) })
      const mayWait = wait > 0 && deleted_at === null
      const { data, hasMore } = mayWait ? await awaited(load, { ...reader, id, seconds: wait }) : await load()
      const last = data.at(-1)
      return { data: [...data], next_page: hasMore && last ? String(last.seq) : null }
    },

    /** Writes the stream of a session's events as the response. */
    async stream({ id, deleted_at }: SessionWithLog, request: FastifyRequest, reply: FastifyReply): Promise<void> {
      const streamQuery = request.query as StreamQuery
      const after = await positionOf(request, streamQuery, id)
      const release = slots.take(request.caller)
      const watched = keys.watch(request.caller)
      reply.hijack()
      await writeEventStream(reply.raw, request.id, {
        live,
        sessionId: id,
        after,
        withPreviews: wantsPreviews(streamQuery),
        isOver: deleted_at !== null,
        turns,
        shutdown: AbortSignal.any([shutdown, watched.signal]),
      }).finally(() => {
        watched.close()
        release()
      })
    },
  }
}

/** A Managed Agents client opens one stream per turn and expects only new events. */
const usesManagedAgents = (headers: FastifyRequest['headers']): boolean =>
  String(headers['anthropic-beta'] ?? '').includes('managed-agents-')

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
