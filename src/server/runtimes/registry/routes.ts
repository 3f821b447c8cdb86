import type { FastifyInstance } from 'fastify'
import { agentRuntimeRoutes, harnessRoutes } from '../../../contract/runtimes.ts'
import { bind } from '../../http/bind.ts'
import type { Caller } from '../../http/caller.ts'
import type { RuntimeModel } from '../runtime.ts'
import type { RuntimeChanges } from './changes.ts'
import type { Probes } from './probes.ts'
import type { Registry } from './registry.ts'

interface Deps {
  readonly registry: Registry
  readonly changes: RuntimeChanges
  readonly probes: Probes
  /** Models that a caller may use on the service's own runtime. */
  readonly ownModels: (caller: Caller) => readonly RuntimeModel[]
}

/** Serves the routes of registered runtimes and of the credentials of built-in ones. */
export function serveRuntimes(app: FastifyInstance, { registry, changes, probes, ownModels }: Deps): void {
  const harnesses = async () => ({ harnesses: await registry.harnesses() })
  const runtimes = async () => ({ runtimes: await registry.agentRuntimes() })
  const done = { ok: true as const }

  bind(app, harnessRoutes.list, harnesses)
  bind(app, harnessRoutes.create, async ({ body }, caller, { actor }) => {
    await changes.create(body, { caller, actor })
    return harnesses()
  })
  bind(app, harnessRoutes.update, async ({ params, body }, caller, { actor }) => {
    await changes.update(params.alias, body, { caller, actor })
    return harnesses()
  })
  bind(app, harnessRoutes.remove, async ({ params }, caller, { actor }) => {
    await changes.remove(params.alias, { caller, actor })
    return done
  })
  bind(app, harnessRoutes.test, ({ params }) => probes.test(params.alias))

  bind(app, agentRuntimeRoutes.list, runtimes)
  bind(app, agentRuntimeRoutes.connect, async ({ params, body }, caller, { actor }) => {
    await changes.connect(params.runtime_id, body, { caller, actor })
    return runtimes()
  })
  bind(app, agentRuntimeRoutes.disconnect, async ({ params }, caller, { actor }) => {
    await changes.disconnect(params.runtime_id, { caller, actor })
    return done
  })
  bind(app, agentRuntimeRoutes.test, ({ params }) => probes.test(params.runtime_id))
  bind(app, agentRuntimeRoutes.models, async ({ params: { runtime_id: id } }, caller) => {
    const models = id === 'builtin' ? ownModels(caller) : await probes.models(id)
    return { models: models.map(({ id, display_name }) => ({ id, display_name })) }
  })
}
