import type { FastifyInstance } from 'fastify'
import { controlRoutes } from '../../contract/controls.ts'
import { bind } from '../http/bind.ts'
import type { Caller } from '../http/caller.ts'
import { pageOf } from '../http/page.ts'
import type { FreezeSettings } from './freeze-settings.ts'
import { placeOf, type RunningReach, type RunningStore } from './running-store.ts'
import type { Stops } from './stops.ts'

interface Deps {
  readonly running: RunningStore
  readonly stops: Stops
  readonly freezes: FreezeSettings
}

/** Routes of the kill switches: list running work, stop it, and freeze spending. */
export function serveControls(app: FastifyInstance, { running, stops, freezes }: Deps): void {
  bind(app, controlRoutes.running, async ({ query }, caller) => {
    const reach = reachOf(caller)
    const page = pageOf(query, range => running.sessions(reach, range), placeOf)
    const [{ items, next_cursor }, totals, keys] = await Promise.all([page, running.totals(reach), running.keys(reach)])
    return { ...totals, sessions: items, keys, next_cursor }
  })
  bind(app, controlRoutes.stop, ({ body }, caller, { actor }) => stops.stop(body, { caller, actor }))
  bind(app, controlRoutes.freezes, async ({ query }, caller) => {
    const { items, next_cursor } = await pageOf(
      query,
      range => freezes.list(caller, range),
      ({ id }) => id,
    )
    return { freezes: items, next_cursor }
  })
  bind(app, controlRoutes.freeze, ({ body }, caller, { actor }) => freezes.set(body, { caller, actor }))
  bind(app, controlRoutes.unfreeze, ({ params }, caller, { actor }) =>
    freezes.lift(params.freeze_id, { caller, actor }),
  )
}

/** A key without an owner sees all sessions, as in GET /v1/sessions; of the keys, only an admin's key sees others. */
const reachOf = ({ ownerScope, role, key }: Caller): RunningReach => ({
  owner: ownerScope,
  key: role === 'admin' || ownerScope !== undefined ? undefined : key?.id,
})
