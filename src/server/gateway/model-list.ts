import type { Model } from '../../contract/models.ts'
import type { Deployment } from '../config/config.ts'
import { invalid } from '../platform/errors.ts'
import type { Catalogue } from './catalogue.ts'
import { type KnownModel, knownModels } from './known-models.ts'

/** The models that clients can be shown. */
export interface ModelList {
  /** In the order of the configuration; wildcards stand for the provider's known models. */
  readonly all: readonly Model[]
  /** Also a model that only a wildcard covers. */
  find(id: string): Model | undefined
}

/** Lists what `catalogue` can serve; deployments that `isServed` refuses are left out. */
export function createModelList(catalogue: Catalogue, isServed: (deployment: Deployment) => boolean): ModelList {
  const models = new Map<string, Model>()
  for (const deployment of catalogue.deployments.filter(isServed)) {
    for (const model of shown(deployment)) if (!models.has(model.id)) models.set(model.id, model)
  }
  return {
    all: [...models.values()],
    find(id) {
      const listed = models.get(id)
      if (listed || !catalogue.has(id)) return listed
      const target = catalogue.resolve(id).find(({ deployment }) => isServed(deployment))
      return target && modelOf({ id, provider: target.deployment.provider, known: undefined })
    },
  }
}

function shown({ alias, provider, upstreamModel }: Deployment): Model[] {
  const known = knownModels[provider] ?? []
  if (!alias.endsWith('*'))
    return [modelOf({ id: alias, provider, known: known.find(({ id }) => id === upstreamModel) })]
  // `claude-*` repeats under another name what `anthropic/*` shows.
  if (!alias.endsWith('/*')) return []
  return known.map(model => modelOf({ id: `${alias.slice(0, -1)}${model.id}`, provider, known: model }))
}

interface Described {
  readonly id: string
  readonly provider: string
  readonly known: KnownModel | undefined
}

/** A model whose release date is not known is dated 1970, as Anthropic's own list does. */
const modelOf = ({ id, provider, known }: Described): Model => ({
  id,
  object: 'model',
  type: 'model',
  display_name: provider === 'switchyard' ? 'Demo (scripted, not a real model)' : (known?.name ?? id),
  created: 0,
  created_at: '1970-01-01T00:00:00Z',
  owned_by: provider,
  ...(known && { context_window: known.contextWindow }),
})

interface Page {
  readonly limit?: number | undefined
  readonly after_id?: string | undefined
  readonly before_id?: string | undefined
}

/** One page of a list, and whether more follow in the direction of the page. An unknown id is `invalid_request`. */
export function pageOf(models: readonly Model[], { limit = 20, after_id, before_id }: Page) {
  const place = (name: string, id: string): number => {
    const at = models.findIndex(model => model.id === id)
    if (at < 0) throw invalid(`${name} names no model of this list`)
    return at
  }
  const from = after_id === undefined ? 0 : place('after_id', after_id) + 1
  const to = before_id === undefined ? models.length : place('before_id', before_id)
  // A page before an id ends right there: it holds the last ones of what is left.
  const data = before_id === undefined ? models.slice(from, to).slice(0, limit) : models.slice(from, to).slice(-limit)
  return {
    object: 'list' as const,
    data,
    has_more: Math.max(0, to - from) > data.length,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
  }
}
