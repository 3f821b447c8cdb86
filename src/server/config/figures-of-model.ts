import type { Deployment, TokenPrices, UnitPrices } from './config.ts'
import type { ModelParams, Say } from './file.ts'
import { defaultTimeouts } from './providers.ts'

type Figures = Pick<Deployment, 'timeouts' | 'rpm' | 'tpm' | 'maxParallel' | 'prices' | 'unitPrices' | 'deny'>

/** Time-outs, limits, prices and the deny list of a model's parameters. */
export function figuresOf(params: Partial<ModelParams>, say: Say): Figures {
  const { rpm, tpm, max_parallel: maxParallel, deny } = params
  const prices = pricesOf(params)
  const unitPrices = unitPricesOf(params)
  return {
    timeouts: timeoutsOf(params, say),
    ...(rpm !== undefined && { rpm }),
    ...(tpm !== undefined && { tpm }),
    ...(maxParallel !== undefined && { maxParallel }),
    ...(Object.keys(prices).length > 0 && { prices }),
    ...(Object.keys(unitPrices).length > 0 && { unitPrices }),
    ...(deny && { deny: checkedDeny(deny, say) }),
  }
}

function timeoutsOf({ timeouts, timeout, stream_timeout }: Partial<ModelParams>, say: Say): Deployment['timeouts'] {
  if (timeout !== undefined && timeouts?.total_ms !== undefined)
    say('timeout and timeouts.total_ms are the same; keep one', 'timeout')
  if (stream_timeout !== undefined && timeouts?.first_byte_ms !== undefined)
    say('stream_timeout and timeouts.first_byte_ms are the same; keep one', 'stream_timeout')
  return {
    connectMs: timeouts?.connect_ms ?? defaultTimeouts.connectMs,
    firstByteMs: timeouts?.first_byte_ms ?? milliseconds(stream_timeout) ?? defaultTimeouts.firstByteMs,
    idleMs: timeouts?.idle_ms ?? defaultTimeouts.idleMs,
    totalMs: timeouts?.total_ms ?? milliseconds(timeout) ?? defaultTimeouts.totalMs,
  }
}

const milliseconds = (seconds: number | undefined): number | undefined =>
  seconds === undefined ? undefined : Math.ceil(seconds * 1000)

function pricesOf(params: Partial<ModelParams>): TokenPrices {
  const {
    input_cost_per_token: input,
    output_cost_per_token: output,
    cache_read_input_token_cost: cacheRead,
    cache_creation_input_token_cost: cacheWrite5m,
    cache_creation_input_token_cost_above_1hr: cacheWrite1h,
  } = params
  return {
    ...(input !== undefined && { input }),
    ...(output !== undefined && { output }),
    ...(cacheRead !== undefined && { cacheRead }),
    ...(cacheWrite5m !== undefined && { cacheWrite5m }),
    ...(cacheWrite1h !== undefined && { cacheWrite1h }),
  }
}

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

function checkedDeny(deny: readonly (string | undefined)[], say: Say): string[] {
  return deny.flatMap((entry, index) => {
    if (entry === undefined) return []
    if (!denied.test(entry))
      say(`deny[${index}] must be a path such as output_config.effort, or header:<name of a beta>`, 'deny', index)
    return [entry]
  })
}
