import type { Config, Deployment } from '../config/config.ts'
import { checkedEntry } from '../config/model-entry.ts'
import { readModelEntry } from '../config/model-shape.ts'
import { providerOf, wildcardsOf } from '../config/providers.ts'
import { isRecord } from '../platform/json.ts'
import { createOutbound, refusalFor } from '../platform/outbound.ts'
import type { Params } from './secret-params.ts'

/** A deployment without its id, or all that is wrong with it, each a sentence that begins with the field. */
export type Checked =
  | { readonly deployment: Omit<Deployment, 'id'>; readonly problems: readonly [] }
  | { readonly deployment?: undefined; readonly problems: readonly string[] }

/** A model as the API takes it. */
export interface NewModel {
  readonly model_name?: string | undefined
  readonly params?: Params | undefined
  readonly litellm_params?: Params | undefined
}

/** The part of the configuration that models of the API are checked against. */
export type CheckedAgainst = Pick<Config, 'environmentKeys' | 'demo' | 'outboundAllow'>

interface ModelCheck {
  readonly config: CheckedAgainst
  /** What is stored for a provider, its address included; undefined when nothing is, or nothing that can be used. */
  readonly credentialOf: (provider: string) => Params | undefined
}

/**
 * Checks a model as the configuration file's are checked. One without address and credential of its own gets those of its
 * provider, both or none: a key goes to no other host than it was stored for. Security: S20, S21, S24, S25.
 */
export function checkModel(model: NewModel, { config, credentialOf }: ModelCheck): Checked {
  const block = isRecord(model.params) ? 'params' : 'litellm_params'
  const params = model[block] ?? {}
  const stored = credentialOf(providerIn(params))
  const used = stored && !hasOwnAccess(params, stored) ? { ...stored, ...params } : params
  const { deployment, problems } = checkEntry({ ...model, ...(model[block] && { [block]: used }) }, config)
  if (!deployment) return { problems }
  const lacking = 'api_base' in used ? undefined : lackOfKey(deployment)
  return lacking === undefined ? { deployment, problems: [] } : { problems: [`${block}.${lacking}`] }
}

interface Credential {
  readonly provider: string
  readonly params: Params
}

/** The deployments that a provider's credential enables, one a wildcard; checked as a model of that provider would be. */
export function checkCredential(
  { provider, params }: Credential,
  config: CheckedAgainst,
): { readonly deployments: readonly Omit<Deployment, 'id'>[]; readonly problems: readonly string[] } {
  const checked = wildcardsOf(provider).map(({ alias, upstreamModel }) =>
    // The environment's key stands for itself: what is stored must have its own.
    checkEntry(
      { model_name: alias, params: { ...params, model: `${provider}/${upstreamModel}` } },
      { ...config, environmentKeys: {} },
    ),
  )
  const deployments = checked.flatMap(({ deployment }) => deployment ?? [])
  const [first] = deployments
  const lacking = first && lackOfKey(first) !== undefined ? ['api_key is required'] : []
  const problems = [...new Set(checked.flatMap(found => found.problems))].map(text => text.replace(/^params\./, ''))
  return { deployments, problems: [...problems, ...lacking] }
}

function checkEntry(given: NewModel, config: CheckedAgainst): Checked {
  const { model_name, params, litellm_params } = given
  const problems: string[] = []
  const entry = readModelEntry(
    {
      ...(model_name !== undefined && { model_name }),
      ...(params && { params }),
      ...(litellm_params && { litellm_params }),
    },
    problem => problems.push(problem),
  )
  const deployment = checkedEntry({
    entry,
    keyOf: provider => config.environmentKeys[provider],
    demo: config.demo,
    mayReadFiles: false,
    say: text => problems.push(text.startsWith('.') ? text.slice(1) : `the body${text}`),
  })
  const block = entry.params ? 'params' : 'litellm_params'
  if (deployment) {
    const given = entry[block]?.api_base ?? deployment.apiBase
    const refusals = refusedAddresses({ deployment, given, allow: config.outboundAllow })
    problems.push(...refusals.map(refusal => `${block}.${refusal}`))
  }
  return deployment && problems.length === 0 ? { deployment, problems: [] } : { problems }
}

interface Addresses {
  readonly deployment: Omit<Deployment, 'id'>
  /** `api_base` as it was given. */
  readonly given: string
  readonly allow: readonly string[]
}

/** The given text is judged as well as what was read in it: no two readers may disagree on the host. */
function refusedAddresses({ deployment: { apiBase, google }, given, allow }: Addresses): string[] {
  const outbound = createOutbound({ allow })
  const refusalOf = (field: string, url: string): string[] => {
    const refusal = refusalFor(url, outbound)
    return refusal === undefined ? [] : [`${field}: ${refusal}`]
  }
  const tokenUri = google?.serviceAccount?.tokenUri
  return [
    ...new Set([...refusalOf('api_base', given), ...refusalOf('api_base', apiBase)]),
    ...(tokenUri === undefined ? [] : refusalOf('vertex_credentials', tokenUri)),
  ]
}

/** Parameters that say who asks. */
const credentialNames = [
  'api_key',
  'aws_access_key_id',
  'aws_secret_access_key',
  'aws_session_token',
  'vertex_credentials',
]

/** Parameters that another address follows from. */
const addressNames = ['api_base', 'aws_region_name', 'vertex_location']

const hasOwnAccess = (params: Params, stored: Params): boolean =>
  credentialNames.some(name => name in params) ||
  addressNames.some(name => name in params && params[name] !== stored[name])

const credentialHeaders = ['authorization', 'x-api-key', 'api-key', 'x-goog-api-key']

/** The rest of a sentence for a deployment at its provider's own address that has no credential for it. */
function lackOfKey({ provider, apiKey, aws, google, headers }: Omit<Deployment, 'id'>): string | undefined {
  const isKeyed = apiKey !== undefined || aws || google || credentialHeaders.some(name => name in headers)
  if (isKeyed || providerOf(provider)?.keyless) return undefined
  return `api_key is required: no credential of ${provider} is stored (PUT /api/providers/${provider})`
}

/** The provider that `model` names, however wrong the rest is. */
export function providerIn({ model }: Params): string {
  const name = typeof model === 'string' ? model : ''
  return name.slice(0, Math.max(0, name.indexOf('/')))
}
