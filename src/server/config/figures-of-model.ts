import { cacheTtlMs } from '../platform/durations.ts'
import type { BaseModel, Capabilities, Deployment, UnitPrices } from './deployments.ts'
import type { ModelParams } from './model-shape.ts'
import { defaultTimeouts, providerOf } from './providers.ts'
import { pricesOfParams } from './token-price-params.ts'
import type { ReportAt } from './yaml-shape.ts'

type Figures = Pick<
  Deployment,
  | 'baseModel'
  | 'capabilities'
  | 'timeouts'
  | 'rpm'
  | 'tpm'
  | 'maxParallel'
  | 'prices'
  | 'unitPrices'
  | 'searchPrice'
  | 'batchApi'
  | 'batchPriceFactor'
  | 'cacheTtlMs'
  | 'logBodiesUntilMs'
  | 'deny'
>

interface Of {
  readonly params: Partial<ModelParams>
  readonly provider: string
  readonly reportAt: ReportAt
}

/** Returns the fields of a deployment that describe the model: timeouts, limits, prices, cache and deny list. */
export function figuresOf({ params, provider, reportAt }: Of): Figures {
  const { rpm, tpm, max_parallel: maxParallel, deny, base_model: base, web_search_cost_per_query: searchPrice } = params
  const baseModel = base === undefined ? undefined : checkedBaseModel(base, provider, reportAt)
  const capabilities = capabilitiesOf(params, reportAt)
  const prices = pricesOfParams(params)
  const unitPrices = unitPricesOf(params)
  return {
    ...(baseModel && { baseModel }),
    ...(Object.keys(capabilities).length > 0 && { capabilities }),
    timeouts: timeoutsOf(params, reportAt),
    ...(rpm !== undefined && { rpm }),
    ...(tpm !== undefined && { tpm }),
    ...(maxParallel !== undefined && { maxParallel }),
    ...(Object.keys(prices).length > 0 && { prices }),
    ...(Object.keys(unitPrices).length > 0 && { unitPrices }),
    ...(searchPrice !== undefined && { searchPrice }),
    ...batchFiguresOf(params),
    ...(params.cache && { cacheTtlMs: checkedTtl(params.cache, reportAt) }),
    ...(params.log_bodies && { logBodiesUntilMs: checkedEnd(params.log_bodies, reportAt) }),
    ...(deny && { deny: checkedDeny(deny, reportAt) }),
  }
}

const batchFiguresOf = ({ batch_api: batchApi, batch_price_factor: batchPriceFactor }: Partial<ModelParams>) => ({
  ...(batchApi !== undefined && { batchApi }),
  ...(batchPriceFactor !== undefined && { batchPriceFactor }),
})

const maxLogMs = 90 * 24 * 60 * 60 * 1_000

/** A time in the past is valid: the recording has ended. */
function checkedEnd({ until }: NonNullable<ModelParams['log_bodies']>, reportAt: ReportAt): number {
  const ms = Date.parse(until ?? '')
  if (Number.isNaN(ms))
    reportAt('log_bodies.until must be a time such as "2026-12-01T00:00:00Z"', 'log_bodies', 'until')
  else if (ms > Date.now() + maxLogMs) reportAt('log_bodies.until is more than 90 days from now', 'log_bodies', 'until')
  return ms || 0
}

const maxModelLength = 300

/** Parses `gpt-5.5` or `openai/gpt-5.5`. A prefix that is not a provider belongs to the model name. */
export function checkedBaseModel(given: string, provider: string, reportAt: ReportAt): BaseModel | undefined {
  const name = given.trim()
  const slash = name.indexOf('/')
  const isNamed = providerOf(name.slice(0, Math.max(0, slash))) !== undefined
  const base = isNamed ? { provider: name.slice(0, slash), model: name.slice(slash + 1) } : { provider, model: name }
  if (base.model === '') reportAt('base_model must be "<model>" or "<provider>/<model>", such as gpt-5.5', 'base_model')
  else if (base.model.includes('*')) reportAt('base_model must name one model without *', 'base_model')
  else if (base.model.length > maxModelLength)
    reportAt(`base_model is longer than ${maxModelLength} characters`, 'base_model')
  else return base
  return undefined
}

function capabilitiesOf({ capabilities: given = {} }: Partial<ModelParams>, reportAt: ReportAt): Capabilities {
  const { context_window: contextWindow, max_output_tokens: maxOutput } = given
  const { reasoning, vision, pdf_input: pdfInput, function_calling: functionCalling } = given
  if (contextWindow !== undefined && maxOutput !== undefined && maxOutput > contextWindow)
    reportAt(
      `capabilities.max_output_tokens exceeds context_window (${contextWindow})`,
      ...['capabilities', 'max_output_tokens'],
    )
  return {
    ...(reasoning !== undefined && { reasoning }),
    ...(vision !== undefined && { vision }),
    ...(pdfInput !== undefined && { pdfInput }),
    ...(functionCalling !== undefined && { functionCalling }),
    ...(contextWindow !== undefined && { contextWindow }),
    ...(maxOutput !== undefined && { maxOutput }),
  }
}

function timeoutsOf(
  { timeouts, timeout, stream_timeout }: Partial<ModelParams>,
  reportAt: ReportAt,
): Deployment['timeouts'] {
  if (timeout !== undefined && timeouts?.total_ms !== undefined)
    reportAt('timeout and timeouts.total_ms set the same limit; remove one', 'timeout')
  if (stream_timeout !== undefined && timeouts?.first_byte_ms !== undefined)
    reportAt('stream_timeout and timeouts.first_byte_ms set the same limit; remove one', 'stream_timeout')
  return {
    connectMs: timeouts?.connect_ms ?? defaultTimeouts.connectMs,
    firstByteMs: timeouts?.first_byte_ms ?? milliseconds(stream_timeout) ?? defaultTimeouts.firstByteMs,
    idleMs: timeouts?.idle_ms ?? defaultTimeouts.idleMs,
    totalMs: timeouts?.total_ms ?? milliseconds(timeout) ?? defaultTimeouts.totalMs,
  }
}

function checkedTtl({ ttl }: NonNullable<ModelParams['cache']>, reportAt: ReportAt): number {
  const ms = ttl === undefined ? undefined : cacheTtlMs(ttl)
  if (ms === undefined) reportAt('cache.ttl must be a duration of 1s to 30d, such as 1h', 'cache', 'ttl')
  return ms ?? 0
}

const milliseconds = (seconds: number | undefined): number | undefined =>
  seconds === undefined ? undefined : Math.ceil(seconds * 1000)

function unitPricesOf(params: Partial<ModelParams>): UnitPrices {
  const {
    input_cost_per_character: character,
    input_cost_per_second: second,
    output_cost_per_image: image,
    input_cost_per_query: query,
  } = params
  return {
    ...(character !== undefined && { character }),
    ...(second !== undefined && { second }),
    ...(image !== undefined && { image }),
    ...(query !== undefined && { query }),
  }
}

/** A path of the body such as `thinking.display`, or `header:` and the name of one beta. */
const denied = /^(header:[\w.-]+|[\w-]+(\.[\w-]+)*)$/

function checkedDeny(deny: readonly (string | undefined)[], reportAt: ReportAt): string[] {
  return deny.flatMap((entry, index) => {
    if (entry === undefined) return []
    if (!denied.test(entry))
      reportAt(`deny[${index}] must be a path such as output_config.effort, or header:<name of a beta>`, 'deny', index)
    return [entry]
  })
}
