import { accessOf } from './access-of-model.ts'
import type { Deployment, Environment } from './config.ts'
import { figuresOf } from './figures-of-model.ts'
import type { ModelEntry, ModelParams, Place, Say } from './file.ts'
import { deploymentId, isUnsendable } from './providers.ts'
import { checkedRoute } from './route-of-model.ts'

interface Options {
  readonly models: readonly (Partial<ModelEntry> | undefined)[]
  readonly place: (path: readonly (string | number)[]) => Place
  readonly env: Environment
  /** True: the name `demo` belongs to the scripted model. */
  readonly demo: boolean
  readonly report: (text: string, place: Place) => void
}

/** The deployments of a file's `model_list`; entries that share a name form one group. */
export function modelsOfFile({ models, place, env, demo, report }: Options): Deployment[] {
  const counts = new Map<string, number>()
  return models.flatMap((entry, index) => {
    if (!entry) return []
    const say: Say = (text, ...path) => report(`model_list[${index}]${text}`, place(['model_list', index, ...path]))
    const checked = checkedEntry({ entry, env, say })
    if (!checked) return []
    if (demo && checked.alias === 'demo')
      say('.model_name demo is the scripted model; rename it, or set demo: false', 'model_name')
    // Counted by the id's own spelling: two aliases that differ only in odd characters must not share an id.
    const stem = deploymentId(checked.alias, 0)
    const number = (counts.get(stem) ?? 0) + 1
    counts.set(stem, number)
    return [{ ...checked, id: deploymentId(checked.alias, number) }]
  })
}

interface Check {
  readonly entry: Partial<ModelEntry>
  readonly env: Environment
  readonly say: Say
}

function checkedEntry({ entry, env, say }: Check): Omit<Deployment, 'id'> | undefined {
  const block = entry.params ? 'params' : 'litellm_params'
  const params: Partial<ModelParams> | undefined = entry[block]
  if (entry.params && entry.litellm_params) say(' has both params and litellm_params; keep one')
  const alias = checkedAlias(entry, say)
  // What is there but of a wrong type has been reported by the reader of the file.
  if (!params && !(block in entry)) say('.params is required')
  else if (params && !('model' in params)) say(`.${block}.model is required`)
  if (alias === undefined || !params?.model) return undefined
  const inside: Say = (text, ...path) => say(`.${block}.${text}`, block, ...path)
  const route = checkedRoute({ params: { ...params, model: params.model }, say: inside })
  if (!route) return undefined
  if (alias.endsWith('*') !== route.upstreamModel.endsWith('*')) {
    inside('model must end in * exactly when model_name does', 'model')
  }
  const { keyVariable, ...target } = route
  return {
    alias,
    ...target,
    apiKey: checkedCredential({ params, keyVariable, env, say: inside }),
    headers: checkedHeaders(params.headers ?? {}, inside),
    weight: params.weight ?? 1,
    ...accessOf({ params, route, say: inside }),
    ...figuresOf(params, inside),
  }
}

function checkedAlias(entry: Partial<ModelEntry>, say: Say): string | undefined {
  const alias = entry.model_name?.trim()
  if (!alias) {
    if (alias === '' || !('model_name' in entry)) say('.model_name is required')
    return undefined
  }
  if (/\*./.test(alias)) say('.model_name may hold a * only at its end', 'model_name')
  if (alias.length > 200) say('.model_name may have 200 characters at most', 'model_name')
  return alias
}

interface Credential {
  readonly params: Partial<ModelParams>
  readonly keyVariable: string | undefined
  readonly env: Environment
  readonly say: Say
}

/** The variable's key is taken only for the provider's own address: to any other it would be given away. */
function checkedCredential({ params, keyVariable, env, say }: Credential): string | undefined {
  const key = params.api_key ?? (keyVariable === undefined ? undefined : env[keyVariable]?.trim() || undefined)
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
