import { accessOf } from './access-of-model.ts'
import type { Deployment } from './config.ts'
import { checkedBaseModel, figuresOf } from './figures-of-model.ts'
import type { ModelEntry, ModelParams } from './model-shape.ts'
import { isUnsendable } from './providers.ts'
import { checkedRoute } from './route-of-model.ts'
import type { Say } from './yaml-shape.ts'

/** What a model may be, besides what holds for all of them. */
export interface EntryRules {
  /** The environment's key of a provider, which goes to the provider's own address only. */
  readonly keyOf: (provider: string) => string | undefined
  /** True: the name `demo` belongs to the scripted model. */
  readonly demo: boolean
  /** True: `vertex_credentials` may be the path of a file. */
  readonly mayReadFiles: boolean
}

interface Check extends EntryRules {
  readonly entry: Partial<ModelEntry>
  readonly say: Say
}

/** The deployment that a model's name and parameters describe; what is wrong with them goes to `say`. */
export function checkedEntry({ entry, keyOf, demo, mayReadFiles, say }: Check): Omit<Deployment, 'id'> | undefined {
  const block = entry.params ? 'params' : 'litellm_params'
  const params: Partial<ModelParams> | undefined = entry[block]
  if (entry.params && entry.litellm_params) say(' has both params and litellm_params; keep one')
  const alias = checkedAlias(entry, { demo, say })
  // What is there but of a wrong type has been reported by the reader of the file.
  if (!params && !(block in entry)) say('.params is required')
  else if (params && !('model' in params)) say(`.${block}.model is required`)
  if (alias === undefined || !params?.model) return undefined
  const inside: Say = (text, ...path) => say(`.${block}.${text}`, block, ...path)
  const route = checkedRoute({ params: { ...params, model: params.model }, say: inside })
  if (!route) return undefined
  checkWildcards(alias, route.upstreamModel, inside)
  const { isOwnAddress, ...target } = route
  return {
    alias,
    ...target,
    apiKey: checkedKey(params.api_key ?? (isOwnAddress ? keyOf(route.provider) : undefined), inside),
    headers: checkedHeaders(params.headers ?? {}, inside),
    weight: params.weight ?? 1,
    ...accessOf({ params, route, mayReadFiles, say: inside }),
    ...figuresOf({ params, provider: route.provider, say: inside }),
    ...baseModelOfInfo(entry, route.provider, say),
  }
}

/** What LiteLLM's own block says of the model behind the entry. */
function baseModelOfInfo(entry: Partial<ModelEntry>, provider: string, say: Say): Pick<Deployment, 'baseModel'> {
  const given = entry.model_info?.base_model
  if (given === undefined) return {}
  const inside: Say = (text, ...path) => say(`.model_info.${text}`, 'model_info', ...path)
  if ((entry.params ?? entry.litellm_params)?.base_model !== undefined)
    inside('base_model and base_model of the parameters are the same; keep one', 'base_model')
  const baseModel = checkedBaseModel(given, provider, inside)
  return baseModel ? { baseModel } : {}
}

/** The other way round is fine: a wildcard whose names all lead to one model. */
function checkWildcards(alias: string, upstreamModel: string, say: Say): void {
  if (upstreamModel.endsWith('*') && !alias.endsWith('*'))
    say('model ends in *, so model_name must end in * as well', 'model')
}

function checkedAlias(entry: Partial<ModelEntry>, { demo, say }: Pick<Check, 'demo' | 'say'>): string | undefined {
  const alias = entry.model_name?.trim()
  if (!alias) {
    if (alias === '' || !('model_name' in entry)) say('.model_name is required')
    return undefined
  }
  if (/\*./.test(alias)) say('.model_name may hold a * only at its end', 'model_name')
  if (demo && alias === 'demo')
    say('.model_name demo is the scripted model; rename it, or set demo: false', 'model_name')
  if (alias.length > 200) say('.model_name may have 200 characters at most', 'model_name')
  return alias
}

function checkedKey(key: string | undefined, say: Say): string | undefined {
  if (key !== undefined && isUnsendable(key))
    say('api_key is empty or holds a character that no HTTP header can carry', 'api_key')
  return key
}

/** Set per connection, or by the body that is sent. */
const ownHeaders = new Set([
  'host',
  'connection',
  'content-length',
  'content-type',
  'transfer-encoding',
  'accept-encoding',
])

function checkedHeaders(headers: Readonly<Record<string, string>>, say: Say): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => {
      const isName = /^[\w!#$%&'*+.^`|~-]+$/.test(name)
      if (!isName || ownHeaders.has(name.toLowerCase())) say(`headers.${name} cannot be set`, 'headers', name)
      else if (typeof value === 'string' && isUnsendable(value))
        say(`headers.${name} is not a header value`, 'headers', name)
      return [name.toLowerCase(), value]
    }),
  )
}
