import { lesserUsd } from '../../platform/usd.ts'
import type { Call, DeployedModel, EndpointKind, Units } from '../core/call.ts'
import type { ModelFacts } from '../pricing/price-book.ts'
import { chargeOf, isEndpointPriced } from '../pricing/unit-prices.ts'
import type { WorstCase } from '../pricing/worst-case.ts'
import { noTokens } from '../tokens/token-counts.ts'
import { charactersOf, type Fields, fieldsOf, requestedUnits, secondsOf, textBytesOf } from './request.ts'
import { endpoints } from './table.ts'

/**
 * Tokens of the largest image at the highest quality with partial images: gpt-image-2 produces 23,719 tokens for 2880
 * by 2880 pixels. Source: OpenAI's guide "Image generation", its calculator.
 */
const tokensPerImage = 25_000
/** Upper bound for the slowest speech. */
const speechTokensPerCharacter = 10
/** Upper bound: input audio has about 10 tokens per second, its transcript no more. */
const tokensPerSecond = 20

interface Bound {
  readonly units: Units
  readonly input: number
  readonly output: number | undefined
}

/** Returns the maximum cost of an endpoint call over all candidates. Source: Gateway, section 4. */
export function endpointWorstCase(
  call: Pick<Call, 'body' | 'headers' | 'address'>,
  kind: EndpointKind,
  candidates: readonly DeployedModel[],
  factsOf: (model: DeployedModel) => ModelFacts,
): WorstCase {
  const fields = fieldsOf({ ...call, kind })
  let worst: WorstCase = { amountUsd: null, tokens: 0, unknown: 'price' }
  for (const model of candidates) {
    const facts = factsOf(model)
    const { units, input, output } = boundOf(call, kind, { fields, facts })
    if (output === undefined) return { amountUsd: null, tokens: null, unknown: 'output' }
    const tokens = Math.max(worst.tokens ?? 0, input + output)
    if (!isEndpointPriced(kind, model, facts.price)) {
      worst = { ...worst, tokens }
      continue
    }
    const usage = { ...noTokens, input_tokens: input, output_tokens: output }
    const { costUsd } = chargeOf({ kind, model, image: fields.values, usage, units, price: facts.price })
    worst = { amountUsd: greaterUsd(worst.amountUsd, costUsd ?? null), tokens }
  }
  return worst
}

const greaterUsd = (one: string | null, other: string | null): string | null => {
  if (one === null || other === null) return one ?? other
  return lesserUsd(one, other) === one ? other : one
}

function boundOf(
  call: Pick<Call, 'body'>,
  kind: EndpointKind,
  { fields, facts }: { fields: Fields; facts: ModelFacts },
): Bound {
  const requested = requestedUnits(kind, fields)
  const text = textBytesOf(call, fields)
  switch (endpoints[kind].unit) {
    case 'second': {
      const { max } = secondsOf(call, fields)
      const tokens = max * tokensPerSecond
      return { units: { second: max, audio_token: tokens }, input: text + tokens, output: tokens }
    }
    case 'image': {
      const images = requested.image ?? 1
      const given = Math.max(fields.files.length, kind === 'images' ? 0 : 1) * tokensPerImage
      return { units: { image: images, image_token: given }, input: text + given, output: images * tokensPerImage }
    }
    case 'character':
      return { units: requested, input: text, output: charactersOf(fields.values['input']) * speechTokensPerCharacter }
    case 'query':
      return { units: requested, input: text, output: 0 }
    default: {
      const { max_tokens: max, n, best_of: best } = fields.values
      const each = typeof max === 'number' ? max : (facts.maxOutput ?? facts.contextWindow)
      const answers = Math.max(1, ...[n, best].filter(count => typeof count === 'number'))
      return { units: requested, input: text, output: each === undefined ? undefined : each * answers }
    }
  }
}
