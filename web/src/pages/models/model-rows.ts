import type { Deployment } from '../../../../src/contract/deployments.ts'
import type { ModelSetting } from '../../../../src/contract/model-settings.ts'
import type { ModelPricing } from '../../../../src/contract/models.ts'
import { dollars } from '../../parts/budget-use.ts'
import { duration } from '../../parts/format.ts'
import type { StateName } from '../../theme.ts'

/** An upstream of a model: its settings, its state, or both. */
export interface ModelRow {
  readonly id: string
  readonly model_name: string
  /** Absent for `demo`, which is built in. */
  readonly setting: ModelSetting | undefined
  /** Absent for one that serves no calls. */
  readonly deployment: Deployment | undefined
}

/** Joins settings and deployments by their id, in the order of the deployments; those that serve no calls come first. */
export function modelRows(settings: readonly ModelSetting[], deployments: readonly Deployment[]): readonly ModelRow[] {
  const byId = new Map(settings.map(setting => [setting.id, setting]))
  const served = new Set(deployments.map(({ id }) => id))
  return [
    ...settings
      .filter(({ id }) => !served.has(id))
      .map(setting => ({ id: setting.id, model_name: setting.model_name, setting, deployment: undefined })),
    ...deployments.map(deployment => ({
      id: deployment.id,
      model_name: deployment.model_name,
      setting: byId.get(deployment.id),
      deployment,
    })),
  ]
}

/** Returns the rows whose name, upstream or provider contains the text. */
export const matching = (rows: readonly ModelRow[], q: string | undefined): readonly ModelRow[] =>
  q === undefined
    ? rows
    : rows.filter(row => `${row.model_name} ${upstreamOf(row)}`.toLowerCase().includes(q.toLowerCase()))

/** `provider/model` of the upstream. */
export function upstreamOf({ setting, deployment }: ModelRow): string {
  if (deployment?.is_scripted) return 'scripted answers'
  if (deployment) return `${deployment.provider}/${deployment.upstream_model}`
  const model = setting?.params['model']
  return typeof model === 'string' ? model : ''
}

/** Health of an upstream in words. */
export interface Health {
  readonly state: StateName
  readonly word: string
  readonly detail?: string
}

export function healthOf({ setting, deployment }: ModelRow, now: number): Health {
  if (!deployment) return { state: 'failed', word: 'serves no calls', ...(setting?.error && { detail: setting.error }) }
  if (deployment.state === 'probing') return { state: 'running', word: 'probing' }
  if (deployment.state === 'healthy') return { state: 'done', word: 'healthy' }
  const leftMs = Math.max(0, Date.parse(deployment.cooling_until ?? '') - now)
  return { state: 'waiting', word: 'cooling down', detail: `${duration(Math.ceil(leftMs / 1000) * 1000)}` }
}

export const priceSources = {
  config: 'set here',
  import: 'imported price list',
  catalogue: 'built-in price list',
} as const satisfies Record<ModelPricing['source'], string>

/** `$5`, `$0.50`: US dollars per million tokens. */
export const perMillion = (usd: number | null): string => (usd === null ? 'unknown' : dollars(usd))

/** Input and output price per million tokens: `$5 / $25`. */
export const priceWords = (pricing: Pick<ModelPricing, 'input' | 'output'> | null): string =>
  pricing === null ? 'unknown' : `${perMillion(pricing.input)} / ${perMillion(pricing.output)}`
