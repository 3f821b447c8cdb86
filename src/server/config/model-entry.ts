import { accessOf } from './access-of-model.ts'
import type { Deployment } from './deployments.ts'
import { checkedBaseModel, figuresOf } from './figures-of-model.ts'
import type { ModelEntry, ModelParams } from './model-shape.ts'
import { isUnsendable } from './providers.ts'
import { requestHeaders } from './request-headers.ts'
import { checkedRoute } from './route-of-model.ts'
import type { ReportAt } from './yaml-shape.ts'

/** Rules for model entries that depend on where they come from. */
export interface EntryRules {
  /** Returns the key of a provider from the environment, which is sent only to the default address of the provider. */
  readonly keyOf: (provider: string) => string | undefined
  /** True if the name `demo` is reserved for the scripted model. */
  readonly demo: boolean
  /** True if `vertex_credentials` may be the path of a file. */
  readonly mayReadFiles: boolean
}

interface Check extends EntryRules {
  readonly entry: Partial<ModelEntry>
  readonly reportAt: ReportAt
}

/** Returns the deployment of a model entry; undefined if it is unusable. Reports problems with `reportAt`. */
export function checkedEntry({
  entry,
  keyOf,
  demo,
  mayReadFiles,
  reportAt,
}: Check): Omit<Deployment, 'id'> | undefined {
  const block = entry.params ? 'params' : 'litellm_params'
  const params: Partial<ModelParams> | undefined = entry[block]
  if (entry.params && entry.litellm_params) reportAt(' has both params and litellm_params; remove one')
  const alias = checkedAlias(entry, { demo, reportAt })
  // A value of a wrong type was reported while the file was parsed.
  if (!params && !(block in entry)) reportAt('.params is required')
  else if (params && !('model' in params)) reportAt(`.${block}.model is required`)
  if (alias === undefined || !params?.model) return undefined
  const inside: ReportAt = (text, ...path) => reportAt(`.${block}.${text}`, block, ...path)
  const route = checkedRoute({ params: { ...params, model: params.model }, reportAt: inside })
  if (!route) return undefined
  checkWildcards(alias, route.upstreamModel, inside)
  const { isOwnAddress, ...target } = route
  return {
    alias,
    ...target,
    apiKey: checkedKey(params.api_key ?? (isOwnAddress ? keyOf(route.provider) : undefined), inside),
    headers: requestHeaders(params.headers ?? {}, (name, problem) =>
      inside(`headers.${name} ${problem}`, 'headers', name),
    ),
    weight: params.weight ?? 1,
    ...accessOf({ params, route, mayReadFiles, reportAt: inside }),
    ...figuresOf({ params, provider: route.provider, reportAt: inside }),
    ...baseModelOfInfo(entry, route.provider, reportAt),
  }
}

/** Returns the base model of LiteLLM's block `model_info`. */
function baseModelOfInfo(
  entry: Partial<ModelEntry>,
  provider: string,
  reportAt: ReportAt,
): Pick<Deployment, 'baseModel'> {
  const given = entry.model_info?.base_model
  if (given === undefined) return {}
  const inside: ReportAt = (text, ...path) => reportAt(`.model_info.${text}`, 'model_info', ...path)
  if ((entry.params ?? entry.litellm_params)?.base_model !== undefined)
    inside('base_model is also set in the parameters; remove one', 'base_model')
  const baseModel = checkedBaseModel(given, provider, inside)
  return baseModel ? { baseModel } : {}
}

/** The reverse is valid: a wildcard whose names all map to one model. */
function checkWildcards(alias: string, upstreamModel: string, reportAt: ReportAt): void {
  if (upstreamModel.endsWith('*') && !alias.endsWith('*'))
    reportAt('model ends in *, so model_name must end in * as well', 'model')
}

function checkedAlias(
  entry: Partial<ModelEntry>,
  { demo, reportAt }: Pick<Check, 'demo' | 'reportAt'>,
): string | undefined {
  const alias = entry.model_name?.trim()
  if (!alias) {
    if (alias === '' || !('model_name' in entry)) reportAt('.model_name is required')
    return undefined
  }
  if (/\*./.test(alias)) reportAt('.model_name may contain * only at its end', 'model_name')
  if (demo && alias === 'demo')
    reportAt('.model_name demo is the scripted model; rename it, or set demo: false', 'model_name')
  if (alias.length > 200) reportAt('.model_name is longer than 200 characters', 'model_name')
  return alias
}

function checkedKey(key: string | undefined, reportAt: ReportAt): string | undefined {
  if (key !== undefined && isUnsendable(key))
    reportAt('api_key is empty or contains a character that is not allowed in an HTTP header', 'api_key')
  return key
}
