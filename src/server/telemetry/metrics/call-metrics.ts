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

  /** Values of calls that have the same labels. Labels are bounded, and so are these. */
  const bundles = new Map<string, CallValues>()
  const valuesOf = (row: UsageRow): CallValues => {
    const { deployment, outcome, kind, status, cached } = row
    const { model, provider } = placeOf(row)
    const key = `${deployment}\n${provider}\n${kind}\n${outcome}\n${status}\n${cached}`
    const found = bundles.get(key)
    if (found) return found
    // Deployments and statuses may change for as long as the process lives.
    if (bundles.size >= maxBundles) bundles.clear()
    const created = createCallValues(instruments, row, { model, provider })
    bundles.set(key, created)
    return created
  }

  return {
    called(row) {
      const values = valuesOf(row)
      values.calls(1)
      // An answer from the cache would hide the latency of the upstream, and it costs nothing.
      if (row.cached === true) return
      if (row.attempts > 1) values.retries(row.attempts - 1)
      if (row.cost_usd === null || row.cost_usd === undefined) values.unpriced(1)
      else values.cost(Number(row.cost_usd))
      for (const { column, add } of values.tokens) if (row[column] > 0) add(row[column])
      if (row.outcome !== 'lost') observe(values, row)
    },
    rejected: code => instruments.count('switchyard_model_call_rejections_total', { code }),
    reserved: result => instruments.count('switchyard_budget_reservations_total', { result }),
    cooled: ({ alias, provider }) =>
      instruments.count('switchyard_cooldowns_total', { model: modelName(alias), provider: providerName(provider) }),
  }
}

/** Combinations of labels that are kept ready. */
const maxBundles = 1_000

/** Not an interface: only a type alias is a record of labels. */
type Place = { readonly model: string; readonly provider: string }

const tokenKinds = {
  input: 'input_tokens',
  cache_read: 'cache_read_tokens',
  cache_write_5m: 'cache_write_5m_tokens',
  cache_write_1h: 'cache_write_1h_tokens',
  output: 'output_tokens',
  reasoning: 'reasoning_tokens',
} as const

type Add = (value: number) => void

/** What a call adds to, with its labels. */
interface CallValues {
  readonly calls: Add
  readonly retries: Add
  readonly unpriced: Add
  readonly cost: Add
  readonly tokens: readonly { readonly column: (typeof tokenKinds)[keyof typeof tokenKinds]; readonly add: Add }[]
  readonly duration: Add
  readonly firstToken: Add
  readonly inputTokens: Add
  readonly outputTokens: Add
}

function createCallValues(instruments: Instruments, row: UsageRow, place: Place): CallValues {
  const { counter, histogram } = once(instruments)
  const conventional = {
    gen_ai_operation_name: operationOf(row),
    gen_ai_provider_name: providerNameOf(place.provider),
    gen_ai_request_model: place.model,
  }
  const usage = 'gen_ai_client_token_usage'
  const outcome = { ...place, outcome: row.outcome, cached: String(row.cached === true) }
  return {
    calls: counter('switchyard_model_calls_total', outcome),
    retries: counter('switchyard_model_call_retries_total', place),
    unpriced: counter('switchyard_unpriced_calls_total', place),
    cost: counter('switchyard_cost_usd_total', place),
    tokens: Object.entries(tokenKinds).map(([kind, column]) => ({
      column,
      add: counter('switchyard_tokens_total', { ...place, kind }),
    })),
    duration: histogram('gen_ai_client_operation_duration_seconds', {
      ...conventional,
      error_type: errorTypeOf(row) ?? '',
    }),
    firstToken: histogram('gen_ai_server_time_to_first_token_seconds', conventional),
    inputTokens: histogram(usage, { ...conventional, gen_ai_token_type: 'input' }),
    outputTokens: histogram(usage, { ...conventional, gen_ai_token_type: 'output' }),
  }
}

/** Creates a series only with its first value, so that the page has no empty ones. */
const once = (instruments: Instruments) => ({
  counter: (...given: Parameters<Instruments['counter']>) => lazily(() => instruments.counter(...given)),
  histogram: (...given: Parameters<Instruments['histogram']>) => lazily(() => instruments.histogram(...given)),
})

function lazily(create: () => Add): Add {
  let add: Add | undefined
  return value => {
    add ??= create()
    add(value)
  }
}

function observe(values: CallValues, row: UsageRow): void {
  const { total_ms, first_content_ms, output_tokens } = row
  if (typeof total_ms === 'number') values.duration(total_ms / 1000)
  if (typeof first_content_ms === 'number') values.firstToken(first_content_ms / 1000)
  const input = inputTokensOf(row)
  if (input > 0) values.inputTokens(input)
  if (output_tokens > 0) values.outputTokens(output_tokens)
}
