import type { FastifyInstance } from 'fastify'
import { scheduleRoutes } from '../../contract/schedules.ts'
import { bind } from '../http/bind.ts'
import { pageOf } from '../http/page.ts'
import { checkTimezone } from '../http/time-range.ts'
import { checkCron, nextRuns } from './next-run.ts'
import { placeOfRun, type Schedules } from './schedules.ts'

/** The schedule routes. A scoped caller sees and writes only schedules of its owner's agents. */
export function serveSchedules(app: FastifyInstance, { schedules }: { schedules: Schedules }): void {
  bind(app, scheduleRoutes.list, async ({ query }, caller) => {
    const { items, next_cursor } = await pageOf(
      query,
      page => schedules.list({ ...page, agentId: query.agent_id }, caller),
      ({ id }) => id,
    )
    if (query.include === undefined) return { schedules: items, next_cursor }
    const last = await schedules.lastRuns(items)
    return { schedules: items.map(schedule => ({ ...schedule, last_run: last.get(schedule.id) ?? null })), next_cursor }
  })
  bind(app, scheduleRoutes.create, ({ body }, caller, { actor, idempotency }) =>
    schedules.create(body, { caller, actor, idempotency }),
  )
  bind(app, scheduleRoutes.preview, async ({ body: { cron, timezone = 'UTC', count = 5 } }) => {
    const timing = { cron: checkCron(cron), timezone: checkTimezone(timezone) }
    return { ...timing, runs: nextRuns(timing, new Date(), count).map(due => due.toISOString()) }
  })
  bind(app, scheduleRoutes.get, ({ params }, caller) => schedules.get(params.schedule_id, caller))
  bind(app, scheduleRoutes.update, ({ params, body }, caller, { actor }) =>
    schedules.update(params.schedule_id, body, { caller, actor }),
  )
  bind(app, scheduleRoutes.remove, async ({ params }, caller, { actor }) => {
    await schedules.remove(params.schedule_id, { caller, actor })
    return { ok: true as const }
  })
  bind(app, scheduleRoutes.trigger, ({ params }, caller, { actor, idempotency }) =>
    schedules.trigger(params.schedule_id, { caller, actor, idempotency }),
  )
  bind(app, scheduleRoutes.runs, async ({ params, query }, caller) => {
    const { items, next_cursor } = await pageOf(
      query,
      page => schedules.runs(params.schedule_id, caller, { ...page, state: query.state }),
      placeOfRun,
    )
    return { runs: items, next_cursor }
  })
}
