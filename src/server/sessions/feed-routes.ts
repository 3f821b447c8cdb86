import type { FastifyInstance, FastifyRequest } from 'fastify'
import { eventRoutes } from '../../contract/event-routes.ts'
import type { Input } from '../../contract/route.ts'
import { routeSchema } from '../http/bind.ts'
import { nesting } from '../http/deep-query.ts'
import { fastifyPath } from '../http/paths.ts'
import type { StreamSlots } from '../http/stream-slots.ts'
import type { WriteTurns } from '../http/write-turns.ts'
import type { Keys } from '../keys/keys.ts'
import { invalid } from '../platform/errors.ts'
import { type FeedStore, firstPlace, type Place, placeIn } from './log/feed-store.ts'
import { writeFeed } from './log/feed-stream.ts'
import type { LiveEvents } from './log/live-events.ts'

interface Deps {
  readonly feed: FeedStore
  readonly live: Pick<LiveEvents, 'anyChange'>
  readonly keys: Pick<Keys, 'watch'>
  readonly slots: StreamSlots
  readonly turns: WriteTurns
  readonly shutdown: AbortSignal
}

type FeedQuery = Input<typeof eventRoutes.feed>['query']

/** Serves the event stream over all sessions of the caller. */
export function serveFeed(app: FastifyInstance, { feed, live, keys, slots, turns, shutdown }: Deps): void {
  /** Returns the position after which the reader continues; without a cursor the current end. */
  async function placeFor({ headers }: FastifyRequest, { after, from }: FeedQuery): Promise<Place> {
    const lastEventId = headers['last-event-id']
    const isResumed = typeof lastEventId === 'string' && lastEventId !== ''
    const cursor = isResumed ? lastEventId : after
    const field = isResumed ? 'Last-Event-ID' : 'after'
    const place = cursor === undefined ? firstPlace : placeIn(cursor)
    if (!place) throw invalid(`${field} must be an event id of this stream`)
    const end = await feed.end(place)
    if (!end) {
      throw invalid(`${field} is from before the database was restored; open the stream without it, or with from=start`)
    }
    return cursor === undefined && from === undefined ? end : place
  }

  // The handler writes the response itself, so the response schema is for the OpenAPI document only.
  const { response: _forTheDocument, ...schema } = routeSchema(eventRoutes.feed)
  app.route({
    method: 'GET',
    url: fastifyPath(eventRoutes.feed),
    config: { route: eventRoutes.feed },
    schema,
    ...nesting(eventRoutes.feed),
    async handler(request, reply) {
      const { caller, id } = request
      const feedQuery = request.query as FeedQuery
      const after = await placeFor(request, feedQuery)
      const filter = { owner: caller.ownerScope, agentId: feedQuery.agent_id, metadata: feedQuery.metadata }
      const release = slots.take(caller)
      const watched = keys.watch(caller)
      reply.hijack()
      const ends = AbortSignal.any([shutdown, watched.signal])
      await writeFeed(reply.raw, id, { store: feed, live, after, filter, turns, shutdown: ends }).finally(() => {
        watched.close()
        release()
      })
    },
  })
}
