import type { ModelSetting, ModelSettingWrite } from '../../../../src/contract/model-settings.ts'
import { type Fields, objectIn } from '../../data/json.ts'

type Amount = number | ''

/** The form of a model with one upstream. Empty fields mean "not set". */
export interface ModelDraft {
  readonly model_name: string
  readonly provider: string
  /** Name of the model at the provider. */
  readonly upstream: string
  readonly api_base: string
  /** Empty: that of the provider, or unchanged. */
  readonly api_key: string
  readonly weight: Amount
  readonly rpm: Amount
  readonly tpm: Amount
  readonly max_parallel: Amount
  /** US dollars per million tokens. */
  readonly input_cost: Amount
  readonly output_cost: Amount
  /** All other parameters as JSON; empty: none. */
  readonly others: string
}

export const emptyModel: ModelDraft = {
  model_name: '',
  provider: '',
  upstream: '',
  api_base: '',
  api_key: '',
  weight: '',
  rpm: '',
  tpm: '',
  max_parallel: '',
  input_cost: '',
  output_cost: '',
  others: '',
}

/** Parameters with a separate field. */
const shown = [
  'model',
  'api_base',
  'api_key',
  'weight',
  'rpm',
  'tpm',
  'max_parallel',
  'input_cost_per_token',
  'output_cost_per_token',
]
/** Secrets come back masked, so they cannot be sent again. */
const secrets = [
  'api_key',
  'aws_access_key_id',
  'aws_secret_access_key',
  'aws_session_token',
  'vertex_credentials',
  'headers',
]

const textIn = (value: unknown): string => (typeof value === 'string' ? value : '')
const amountIn = (value: unknown, factor = 1): Amount =>
  typeof value === 'number' ? Number((value * factor).toPrecision(12)) : ''

/** Returns the form of an existing model. */
export function draftOf({ model_name, params }: Pick<ModelSetting, 'model_name' | 'params'>): ModelDraft {
  const [provider = '', ...rest] = textIn(params['model']).split('/')
  const others = Object.entries(params).filter(([name]) => !shown.includes(name) && !secrets.includes(name))
  return {
    model_name,
    provider,
    upstream: rest.join('/'),
    api_base: textIn(params['api_base']),
    api_key: '',
    weight: amountIn(params['weight']),
    rpm: amountIn(params['rpm']),
    tpm: amountIn(params['tpm']),
    max_parallel: amountIn(params['max_parallel']),
    input_cost: amountIn(params['input_cost_per_token'], 1e6),
    output_cost: amountIn(params['output_cost_per_token'], 1e6),
    others: others.length === 0 ? '' : JSON.stringify(Object.fromEntries(others), null, 2),
  }
}

const amount = (value: Amount, factor = 1) => (value === '' ? null : Number((value * factor).toPrecision(12)))
const text = (value: string) => (value.trim() === '' ? null : value.trim())

const paramsOf = (draft: ModelDraft): Fields => ({
  ...objectIn(draft.others),
  model: `${draft.provider}/${draft.upstream.trim()}`,
  api_base: text(draft.api_base),
  api_key: text(draft.api_key),
  weight: amount(draft.weight),
  rpm: amount(draft.rpm),
  tpm: amount(draft.tpm),
  max_parallel: amount(draft.max_parallel),
  input_cost_per_token: amount(draft.input_cost, 1e-6),
  output_cost_per_token: amount(draft.output_cost, 1e-6),
})

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other)

/** Returns the parameters that differ from `before`; removed ones are null. The other parameters must be valid. */
export function modelWrite(draft: ModelDraft, before: ModelDraft): ModelSettingWrite {
  const [now, old] = [paramsOf(draft), paramsOf(before)]
  const changed = [...new Set([...Object.keys(old), ...Object.keys(now)])]
    .map(name => [name, now[name] ?? null] as const)
    .filter(([name, value]) => !isSame(value, old[name] ?? null))
  return {
    ...(draft.model_name.trim() !== before.model_name && { model_name: draft.model_name.trim() }),
    ...(changed.length > 0 && { params: Object.fromEntries(changed) }),
  }
}
