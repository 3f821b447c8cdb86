import type { FastifyInstance } from 'fastify'
import { modelSettingRoutes } from '../../contract/model-settings.ts'
import { providerRoutes } from '../../contract/providers.ts'
import { bind } from '../http/bind.ts'
import { pageOf } from '../http/page.ts'
import type { ModelSettings } from './model-settings.ts'
import type { Providers } from './providers.ts'

/** Binds the routes of provider credentials. */
export function serveProviders(app: FastifyInstance, { providers }: { providers: Providers }): void {
  bind(app, providerRoutes.list, async () => ({ providers: providers.list() }))
  bind(app, providerRoutes.set, ({ params, body }, caller, { actor }) =>
    providers.set(params.provider_id, body, { caller, actor }),
  )
  bind(app, providerRoutes.remove, async ({ params }, caller, { actor }) => {
    await providers.remove(params.provider_id, { caller, actor })
    return { ok: true as const }
  })
  bind(app, providerRoutes.test, ({ params: { provider_id: id }, body = {} }, caller, { actor }) =>
    Object.keys(body).length > 0 ? providers.testGiven(id, body, { caller, actor }) : providers.test(id),
  )
}

/** Binds the routes of model settings. */
export function serveModelSettings(app: FastifyInstance, { models }: { models: ModelSettings }): void {
  bind(app, modelSettingRoutes.list, async ({ query }) => {
    const { items, next_cursor } = await pageOf(
      query,
      async page => models.list(page),
      ({ id }) => id,
    )
    return { models: items, next_cursor }
  })
  bind(app, modelSettingRoutes.create, ({ body }, caller, { actor }) => models.create(body, { caller, actor }))
  bind(app, modelSettingRoutes.get, async ({ params }) => models.get(params.model_id))
  bind(app, modelSettingRoutes.update, ({ params, body }, caller, { actor }) =>
    models.update(params.model_id, body, { caller, actor }),
  )
  bind(app, modelSettingRoutes.remove, async ({ params }, caller, { actor }) => {
    await models.remove(params.model_id, { caller, actor })
    return { ok: true as const }
  })
}
