import type { UsageRow } from '../../usage/store.ts'
import { errorTypeOf, inputTokensOf, operationOf, providerNameOf } from '../gen-ai.ts'
import type { Telemetry } from '../telemetry.ts'
import { boundedNames } from './bounded-names.ts'
import type { Instruments } from './instruments.ts'

/** Different values of the labels `model` and `provider`. */
const maxModels = 200
const maxProviders = 50

interface Deps {
  readonly instruments: Instruments
  /** Returns the alias of a deployment in the configuration; undefined for an unknown id. */
  readonly aliasOf: (deployment: string) => string | undefined
}

/** Metrics of model calls. Labels name only what the configuration names, never what a caller sends. */
export function createCallMetrics({
  instruments,
  aliasOf,
}: Deps): Pick<Telemetry, 'called' | 'rejected' | 'reserved' | 'cooled'> {
  const modelName = boundedNames(maxModels)
  const providerName = boundedNames(maxProviders)
  const placeOf = ({ deployment, provider }: UsageRow) => ({
    model: modelName(aliasOf(deployment) ?? ''),
    provider: providerName(provider),
  })

  return {
    called(row) {
      const place = placeOf(row)
      const isCached = row.cached === true
      const outcome = { ...place, outcome: row.outcome, cached: String(isCached) }
      instruments.count('switchyard_model_calls_total', outcome)
      // An answer from the cache would hide the latency of the upstream, and it costs nothing.
      if (isCached) return
      if (row.attempts > 1) instruments.count('switchyard_model_call_retries_total', place, row.attempts - 1)
      if (row.cost_usd === null || row.cost_usd === undefined)
        instruments.count('switchyard_unpriced_calls_total', place)
      else instruments.count('switchyard_cost_usd_total', place, Number(row.cost_usd))
      countTokens(instruments, row, place)
      if (row.outcome !== 'lost') observeTimes(instruments, row, conventional(row, place))
    },
    rejected: code => instruments.count('switchyard_model_call_rejections_total', { code }),
    reserved: result => instruments.count('switchyard_budget_reservations_total', { result }),
    cooled: ({ alias, provider }) =>
      instruments.count('switchyard_cooldowns_total', { model: modelName(alias), provider: providerName(provider) }),
  }
}

interface Place {
  readonly model: string
  readonly provider: string
}

/** Labels of the conventions for generative AI. */
const conventional = (row: UsageRow, { model, provider }: Place) => ({
  gen_ai_operation_name: operationOf(row),
  gen_ai_provider_name: providerNameOf(provider),
  gen_ai_request_model: model,
})

const tokenKinds = {
  input: 'input_tokens',
  cache_read: 'cache_read_tokens',
  cache_write_5m: 'cache_write_5m_tokens',
  cache_write_1h: 'cache_write_1h_tokens',
  output: 'output_tokens',
  reasoning: 'reasoning_tokens',
} as const

function countTokens(instruments: Instruments, row: UsageRow, place: Place): void {
  for (const [kind, column] of Object.entries(tokenKinds)) {
    const tokens = row[column]
    if (tokens > 0) instruments.count('switchyard_tokens_total', { ...place, kind }, tokens)
  }
}

function observeTimes(instruments: Instruments, row: UsageRow, labels: ReturnType<typeof conventional>): void {
  const { total_ms, first_content_ms } = row
  const error_type = errorTypeOf(row) ?? ''
  if (typeof total_ms === 'number')
    instruments.observe('gen_ai_client_operation_duration_seconds', { ...labels, error_type }, total_ms / 1000)
  if (typeof first_content_ms === 'number')
    instruments.observe('gen_ai_server_time_to_first_token_seconds', labels, first_content_ms / 1000)
  const input = inputTokensOf(row)
  const types = { input, output: row.output_tokens }
  for (const [gen_ai_token_type, tokens] of Object.entries(types))
    if (tokens > 0) instruments.observe('gen_ai_client_token_usage', { ...labels, gen_ai_token_type }, tokens)
}
