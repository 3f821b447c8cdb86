import type { ModelParamName } from '../../contract/model-params.ts'
import type { RateName, TokenPrices } from './deployments.ts'

/** Parameter of a model for each price per token. LiteLLM's price list has the same names. */
export const tokenPriceParams = {
  input: 'input_cost_per_token',
  output: 'output_cost_per_token',
  cacheRead: 'cache_read_input_token_cost',
  cacheWrite5m: 'cache_creation_input_token_cost',
  cacheWrite1h: 'cache_creation_input_token_cost_above_1hr',
  inputAudio: 'input_cost_per_audio_token',
  cacheReadAudio: 'cache_read_input_audio_token_cost',
  outputAudio: 'output_cost_per_audio_token',
} as const satisfies Readonly<Record<RateName, ModelParamName>>

type TokenPriceParam = (typeof tokenPriceParams)[RateName]
type PriceParams = Readonly<Partial<Record<TokenPriceParam, number | undefined>>>

const pairs = Object.entries(tokenPriceParams) as readonly (readonly [RateName, TokenPriceParam])[]

/** Returns the prices in the parameters of a model. */
export const pricesOfParams = (params: PriceParams): TokenPrices =>
  Object.fromEntries(pairs.flatMap(([rate, param]) => (params[param] === undefined ? [] : [[rate, params[param]]])))

/** Returns the parameters for the prices of a model; undefined for those that it lacks. */
export const paramsOfPrices = (prices: TokenPrices = {}): Readonly<Record<TokenPriceParam, number | undefined>> =>
  Object.fromEntries(pairs.map(([rate, param]) => [param, prices[rate]])) as Record<TokenPriceParam, number | undefined>
