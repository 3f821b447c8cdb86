import type { FastifyInstance } from 'fastify'
import { messageRoutes } from '../../contract/messages.ts'
import { modelRoutes } from '../../contract/models.ts'
import { bind } from '../http/bind.ts'
import type { Caller } from '../http/caller.ts'
import { invalid, notFound } from '../platform/errors.ts'
import type { Gateway } from './gateway.ts'
import { pageOf } from './model-list.ts'
import { serveCalls } from './serve-calls.ts'

interface Deps {
  readonly gateway: Gateway
}

/** Model calls in Anthropic's format. */
export function serveMessages(app: FastifyInstance, { gateway }: Deps): void {
  serveCalls(app, gateway, [
    { route: messageRoutes.create, kind: 'messages' },
    { route: messageRoutes.countTokens, kind: 'count_tokens' },
  ])
}

/** The list of models. Gaps: section 7. */
export function serveModels(app: FastifyInstance, { gateway }: Deps): void {
  bind(app, modelRoutes.list, async ({ query }, { key }) => {
    // Every model serves the built-in runtime; no other one is known here.
    if (query.runtime !== undefined && query.runtime !== 'builtin')
      throw invalid(`runtime ${query.runtime} is not known`)
    return pageOf(gateway.models(key), query)
  })

  const find = (id: string, { key }: Caller) => {
    const model = gateway.find(id, key)
    if (!model) throw notFound('model', id)
    return { ...model, deployments: [...gateway.deployments(id)] }
  }
  bind(app, modelRoutes.get, async ({ params }, caller) => find(params.model_id, caller))
  // Ids hold slashes, which clients send plain as well as encoded.
  app.get('/v1/models/*', { config: { route: modelRoutes.get } }, async request =>
    find((request.params as { '*': string })['*'], request.caller),
  )
}
