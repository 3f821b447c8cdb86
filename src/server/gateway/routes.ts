import type { FastifyInstance } from 'fastify'
import { messageRoutes } from '../../contract/messages.ts'
import { type Model, modelRoutes } from '../../contract/models.ts'
import { bind } from '../http/bind.ts'
import type { Caller } from '../http/caller.ts'
import { fastifyPaths } from '../http/paths.ts'
import { invalid } from '../platform/errors.ts'
import type { Gateway } from './gateway.ts'
import { modelInfo } from './routing/model-info.ts'
import { pageOf } from './routing/model-list.ts'
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

interface ModelDeps extends Deps {
  /** Returns the models of a foreign runtime; undefined for an unknown runtime. */
  readonly modelsOf: (runtime: string) => Promise<readonly { id: string; display_name: string }[] | undefined>
}

/** The list of models. Gaps: section 7. */
export function serveModels(app: FastifyInstance, { gateway, modelsOf }: ModelDeps): void {
  bind(app, modelRoutes.list, async ({ query }, { key }, { header }) => {
    const { runtime } = query
    // OpenAI's clients do not page: they take the first page as the whole list.
    const limit = query.limit ?? (header('anthropic-version') === undefined ? Number.POSITIVE_INFINITY : anthropicLimit)
    // Every model serves the built-in runtime.
    if (runtime === undefined || runtime === 'builtin') return pageOf(gateway.models(key), { ...query, limit })
    const models = await modelsOf(runtime)
    if (!models) throw invalid(`unknown runtime ${runtime}`)
    return pageOf(
      models.map(model => foreignModel(model, runtime)),
      { ...query, limit },
    )
  })

  serveModelInfo(app, gateway)

  const find = (id: string, { key }: Caller) => {
    const model = gateway.find(id, key)
    if (!model) throw gateway.unknown(id, key)
    return { ...model, deployments: [...gateway.deployments(id)] }
  }
  bind(app, modelRoutes.get, async ({ params }, caller) => find(params.model_id, caller))
  // Ids contain slashes, which clients send both plain and encoded.
  for (const path of fastifyPaths(modelRoutes.get)) {
    app.get(path.replace(':model_id', '*'), { config: { route: modelRoutes.get } }, async request =>
      find((request.params as { '*': string })['*'], request.caller),
    )
  }
}

/** Serves the list of models in LiteLLM's format, for clients that read limits and prices from it. */
function serveModelInfo(app: FastifyInstance, gateway: Gateway): void {
  bind(app, modelRoutes.info, async ({ query }, { key }) => {
    const { litellm_model_id: wanted } = query
    const all = gateway.models(key).flatMap(model => {
      const target = gateway.targetOf(model.id)
      return target ? [modelInfo(model, target)] : []
    })
    if (wanted === undefined) return { data: all }
    const data = all.filter(({ model_info }) => model_info.id === wanted)
    if (data.length === 0) throw invalid(`litellm_model_id ${wanted} is not the id of a model that this key may use`)
    return { data }
  })
}

/** Default page size of Anthropic's API. */
const anthropicLimit = 20

/** Describes a model that a foreign runtime calls itself. Its age and price are unknown. */
const foreignModel = ({ id, display_name }: Pick<Model, 'id' | 'display_name'>, runtime: string): Model => ({
  id,
  object: 'model',
  type: 'model',
  display_name,
  created: 0,
  created_at: '1970-01-01T00:00:00Z',
  owned_by: runtime,
  pricing: null,
})
