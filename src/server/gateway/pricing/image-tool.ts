import { recordsOf, textIn } from '../../platform/json.ts'
import { picoDollarsOf } from '../../platform/usd.ts'
import { keysOf, ownMembers } from '../bytes/json-members.ts'
import type { Call, DeployedModel } from '../core/call.ts'
import { type ImageTokens, noTokens } from '../tokens/token-counts.ts'
import type { PriceBook } from './price-book.ts'
import { chargeOf } from './unit-prices.ts'

/** Charge for images in pico-dollars, and its rates. */
interface ImageCharge {
  readonly pico: bigint
  readonly rates: Readonly<Record<string, string>>
}

const noCharge: ImageCharge = { pico: 0n, rates: {} }
const providers: ReadonlySet<string> = new Set(['openai', 'azure'])
/** The dearest model: requests need not name one. */
const assumedModel = 'gpt-image-1'

/** Names of the rates in the ledger. `image_token` is a surcharge of images over text in the input. */
const names = { input: 'image_input', image_token: 'image_token', output: 'image_output' }
const toolsKey = keysOf(['tools'])

/** Returns the image model that a request names for OpenAI's tool. */
function imageModelIn({ body }: Pick<Call, 'body'>): string {
  const [span] = ownMembers(body, toolsKey)?.values ?? []
  const tools: unknown = span && JSON.parse(body.toString('utf8', span.start, span.end))
  const tool = recordsOf(tools).find(({ type }) => type === 'image_generation')
  return textIn(tool?.['model']) ?? assumedModel
}

/** Returns the charge for images that OpenAI's tool generated for a response, at the price of the image model. */
export function imageToolCharge(
  { deployment }: DeployedModel,
  call: Pick<Call, 'body'>,
  images: ImageTokens | undefined,
  { listedPrice }: Pick<PriceBook, 'listedPrice'>,
): ImageCharge {
  const provider = deployment.baseModel?.provider ?? deployment.provider
  if (!images || !providers.has(provider)) return noCharge
  // Prices in the parameters of the deployment are those of its own model.
  const { prices: _, unitPrices: __, baseModel: ___, ...plain } = deployment
  const upstreamModel = imageModelIn(call)
  const usage = { ...noTokens, input_tokens: images.input, output_tokens: images.output }
  const { costUsd, rates } = chargeOf({
    kind: 'images',
    model: { deployment: { ...plain, provider }, upstreamModel },
    image: {},
    usage,
    units: { image_token: images.inputImages },
    price: listedPrice(provider, upstreamModel),
  })
  if (costUsd === undefined || rates === undefined) return noCharge
  const named = Object.entries(names).flatMap(([name, shown]) =>
    rates[name] === undefined ? [] : [[shown, rates[name]]],
  )
  return { pico: picoDollarsOf(costUsd), rates: Object.fromEntries(named) }
}
