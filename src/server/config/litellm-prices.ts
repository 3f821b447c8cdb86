import type { RateName } from './deployments.ts'
import {
  isRecord,
  limitIn,
  type PriceListModel,
  perMillion,
  priceIn,
  ratesOfList,
  type StatedRate,
} from './price-list.ts'
import { tokenPriceParams } from './token-price-params.ts'

type List = Readonly<Record<string, unknown>>

/** Maps LiteLLM's provider names to ours. Models of other providers are skipped. */
const providerNames: readonly (readonly [theirs: RegExp, ours: string])[] = [
  [/^anthropic$/, 'anthropic'],
  [/^(text-completion-)?openai$/, 'openai'],
  [/^azure(_text|_ai)?$/, 'azure'],
  [/^gemini$/, 'gemini'],
  [/^vertex_ai/, 'vertex'],
  [/^bedrock/, 'bedrock'],
  [/^openrouter$/, 'openrouter'],
  [/^ollama/, 'ollama'],
]

/** Modes that are priced by tokens. */
const modes: ReadonlySet<unknown> = new Set([undefined, 'chat', 'completion', 'responses', 'embedding'])

const rateKeys = Object.fromEntries(
  Object.entries(tokenPriceParams).map(([rate, field]) => [field, rate as RateName] as const),
)

/** True for the shape of LiteLLM's `model_prices_and_context_window.json`. */
export const isLiteLlmList = (list: List): boolean =>
  Object.values(list).some(entry => isRecord(entry) && typeof entry['litellm_provider'] === 'string')

/** Returns the models of LiteLLM's list that our providers can serve. Its prices are per token. */
export function modelsOfLiteLlm(list: List): PriceListModel[] {
  return Object.entries(list).flatMap(([key, entry]) => {
    // The sample explains the fields in prose.
    if (key === 'sample_spec' || !isRecord(entry) || !modes.has(entry['mode'])) return []
    const theirs = String(entry['litellm_provider'])
    const provider = providerNames.find(([names]) => names.test(theirs))?.[1]
    if (provider === undefined) return []
    const contextWindow = limitIn(entry['max_input_tokens'])
    const maxOutput = limitIn(entry['max_output_tokens'] ?? entry['max_tokens'])
    return [
      {
        provider,
        model: nameOf(key, theirs),
        rates: ratesOfList(Object.keys(entry).flatMap(field => statedRate(entry, field, key))),
        ...(contextWindow !== undefined && { contextWindow }),
        ...(maxOutput !== undefined && { maxOutput }),
      },
    ]
  })
}

/** Removes the provider prefix, which most names have. */
function nameOf(key: string, provider: string): string {
  const [first = ''] = key.split('/', 1)
  return key.includes('/') && provider.startsWith(first) ? key.slice(first.length + 1) : key
}

/**
 * Matches fields such as `input_cost_per_token_above_200k_tokens`. Other suffixes are other service modes, such as
 * batches.
 */
const tier = /^(.+)_above_(\d+)k_tokens$/

function statedRate(entry: List, field: string, key: string): StatedRate[] {
  const [, stem = field, thousands] = tier.exec(field) ?? []
  const name = Object.hasOwn(rateKeys, stem) ? rateKeys[stem] : undefined
  const perToken = name && priceIn(entry, field, key)
  if (!name || perToken === undefined) return []
  return [{ name, above: thousands === undefined ? 0 : Number(thousands) * 1000, rate: perMillion(perToken) }]
}
