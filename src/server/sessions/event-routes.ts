import type { FastifyInstance } from 'fastify'
import { eventRoutes } from '../../contract/event-routes.ts'
import { bind } from '../http/bind.ts'
import { bindStream } from '../http/bind-stream.ts'
import type { EventReading } from './event-reading.ts'
import type { TicketStore } from './log/ticket-store.ts'
import type { Sessions } from './sessions.ts'

interface Deps {
  readonly sessions: Sessions
  readonly reading: EventReading
  readonly tickets: TicketStore
}

/** Serves the event routes: list, send, stream. The events of a deleted session stay readable until they are purged. */
export function serveEvents(app: FastifyInstance, { sessions, reading, tickets }: Deps): void {
  bind(app, eventRoutes.list, async ({ params, query }, caller, { signal }) =>
    reading.list(await sessions.withLog(params.session_id, caller), query, { caller, signal }),
  )

  bind(app, eventRoutes.send, async ({ params, body }, caller) => ({
    data: await sessions.send(params.session_id, body.events, caller),
  }))

  bind(app, eventRoutes.ticket, async ({ params }, caller) => {
    const { id } = await sessions.withLog(params.session_id, caller)
    return tickets.issue(id, caller)
  })

  bindStream(app, eventRoutes.stream, async (request, reply) => {
    const { session_id: id } = request.params as { session_id: string }
    await reading.stream(await sessions.withLog(id, request.caller), request, reply)
  })
}
