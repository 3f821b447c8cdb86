import { credentialParams } from '../../contract/model-params.ts'
import type { Config } from '../config/config.ts'
import type { Deployment } from '../config/deployments.ts'
import { checkedEntry } from '../config/model-entry.ts'
import { readModelEntry } from '../config/model-shape.ts'
import { providerOf, wildcardsOf } from '../config/providers.ts'
import { isRecord } from '../platform/json.ts'
import { blockedReasonFor, createOutbound } from '../platform/outbound.ts'
import type { Params } from './secret-params.ts'

/** A deployment without its id, or all problems, each a message that starts with the field. */
export type Checked =
  | { readonly deployment: Omit<Deployment, 'id'>; readonly problems: readonly [] }
  | { readonly deployment?: undefined; readonly problems: readonly string[] }

/** Model settings of a request. */
export interface NewModel {
  readonly model_name?: string | undefined
  readonly params?: Params | undefined
  readonly litellm_params?: Params | undefined
}

/** Configuration that models of the API are checked against. */
export type CheckConfig = Pick<Config, 'environmentKeys' | 'demo' | 'outboundAllow'>

interface ModelCheck {
  readonly config: CheckConfig
  /** Returns the stored parameters of a provider, including its address; undefined if there are no usable ones. */
  readonly credentialOf: (provider: string) => Params | undefined
}

/**
 * Checks a model with the rules of the configuration file. A model without its own address and credential gets both
 * from its provider: a key is never sent to another host than the one it was stored for. Security: S20, S21, S24, S25.
 */
export function checkModel(model: NewModel, { config, credentialOf }: ModelCheck): Checked {
  const block = isRecord(model.params) ? 'params' : 'litellm_params'
  const params = model[block] ?? {}
  const stored = credentialOf(providerIn(params))
  const used = stored && !hasOwnAccess(params, stored) ? { ...stored, ...params } : params
  const { deployment, problems } = checkEntry({ ...model, ...(model[block] && { [block]: used }) }, config)
  if (!deployment) return { problems }
  const lacking = 'api_base' in used ? undefined : missingKeyProblem(deployment)
  return lacking === undefined ? { deployment, problems: [] } : { problems: [`${block}.${lacking}`] }
}

interface Credential {
  readonly provider: string
  readonly params: Params
}

/**
 * Returns the deployments that a provider credential enables, one per wildcard, checked like models of that provider.
 */
export function checkCredential(
  { provider, params }: Credential,
  config: CheckConfig,
): { readonly deployments: readonly Omit<Deployment, 'id'>[]; readonly problems: readonly string[] } {
  const checked = wildcardsOf(provider).map(({ alias, upstreamModel }) =>
    // Without the keys of the environment: a stored credential must have its own key.
    checkEntry(
      { model_name: alias, params: { ...params, model: `${provider}/${upstreamModel}` } },
      { ...config, environmentKeys: {} },
    ),
  )
  const deployments = checked.flatMap(({ deployment }) => deployment ?? [])
  const [first] = deployments
  const lacking = first && missingKeyProblem(first) !== undefined ? ['api_key is required'] : []
  const problems = [...new Set(checked.flatMap(found => found.problems))].map(text => text.replace(/^params\./, ''))
  return { deployments, problems: [...problems, ...lacking] }
}

function checkEntry(given: NewModel, config: CheckConfig): Checked {
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
    reportAt: text => problems.push(text.startsWith('.') ? text.slice(1) : `request body${text}`),
  })
  const block = entry.params ? 'params' : 'litellm_params'
  if (deployment) {
    const given = entry[block]?.api_base ?? deployment.apiBase
    const reasons = blockedAddresses({ deployment, given, allow: config.outboundAllow })
    problems.push(...reasons.map(reason => `${block}.${reason}`))
  }
  return deployment && problems.length === 0 ? { deployment, problems: [] } : { problems }
}

interface Addresses {
  readonly deployment: Omit<Deployment, 'id'>
  /** `api_base` as in the request. */
  readonly given: string
  readonly allow: readonly string[]
}

/** Checks both the text of the request and the parsed address, because URL parsers may disagree on the host. */
function blockedAddresses({ deployment: { apiBase, google }, given, allow }: Addresses): string[] {
  const outbound = createOutbound({ allow })
  const problemsOf = (field: string, url: string): string[] => {
    const reason = blockedReasonFor(url, outbound)
    return reason === undefined ? [] : [`${field}: ${reason}`]
  }
  const tokenUri = google?.serviceAccount?.tokenUri
  return [
    ...new Set([...problemsOf('api_base', given), ...problemsOf('api_base', apiBase)]),
    ...(tokenUri === undefined ? [] : problemsOf('vertex_credentials', tokenUri)),
  ]
}

/** Parameters that determine the address. */
const addressNames = ['api_base', 'aws_region_name', 'vertex_location']

const hasOwnAccess = (params: Params, stored: Params): boolean =>
  credentialParams.some(name => name in params) ||
  addressNames.some(name => name in params && params[name] !== stored[name])

const credentialHeaders = ['authorization', 'x-api-key', 'api-key', 'x-goog-api-key']

/**
 * Returns the problem of a deployment at its provider's default address without a credential; undefined if it has one.
 */
function missingKeyProblem({ provider, apiKey, aws, google, headers }: Omit<Deployment, 'id'>): string | undefined {
  const isKeyed = apiKey !== undefined || aws || google || credentialHeaders.some(name => name in headers)
  if (isKeyed || providerOf(provider)?.keyless) return undefined
  return `api_key is required: provider ${provider} has no stored credential; store one with PUT /api/providers/${provider}`
}

/** Returns the provider prefix of `model`, even if the rest is invalid. */
export function providerIn({ model }: Params): string {
  const name = typeof model === 'string' ? model : ''
  return name.slice(0, Math.max(0, name.indexOf('/')))
}
