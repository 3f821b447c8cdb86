import type { FastifyInstance } from 'fastify'
import { threadRoutes } from '../../contract/managed-threads.ts'
import { bind } from '../http/bind.ts'
import { bindStream } from '../http/bind-stream.ts'
import type { EventReading } from '../sessions/sessions.ts'
import { listOf } from './lists.ts'
import { statusesOf } from './statuses.ts'
import type { SessionThreads } from './threads.ts'

interface Deps {
  readonly threads: SessionThreads
  readonly reading: EventReading
}

/** Serves the threads of a session in the Managed Agents dialect. */
export function serveThreads(app: FastifyInstance, { threads, reading }: Deps): void {
  bind(app, threadRoutes.list, ({ params, query }, caller) => {
    const statuses = statusesOf(query.statuses ?? query['statuses[]'])
    return listOf(
      query,
      page => threads.list(params.session_id, page, { statuses, caller }),
      ({ id }) => id,
    )
  })
  bind(app, threadRoutes.get, ({ params }, caller) => threads.get(params.session_id, params.thread_id, caller))
  bind(app, threadRoutes.archive, ({ params }, caller) => threads.archive(params.session_id, params.thread_id, caller))
  bind(app, threadRoutes.events, async ({ params, query }, caller, { signal }) =>
    reading.list(await threads.rowOf(params.session_id, params.thread_id, caller), query, { caller, signal }),
  )
  bindStream(app, threadRoutes.stream, async (request, reply) => {
    const { session_id, thread_id } = request.params as Record<'session_id' | 'thread_id', string>
    await reading.stream(await threads.rowOf(session_id, thread_id, request.caller), request, reply)
  })
}
