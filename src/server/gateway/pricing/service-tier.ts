import { textIn } from '../../platform/json.ts'
import { keysOf, type OwnMembers, ownMembers } from '../bytes/json-members.ts'
import { baseModelOf, type Call, type CallKind, type DeployedModel } from '../core/call.ts'
import { createAppliedRates } from './cost.ts'
import type { ModelPrice, PriceBook } from './price-book.ts'
import { scaled } from './rates.ts'

/** Tiers in which a vendor serves its models at other prices than the usual ones. */
interface Vendor {
  readonly providers: RegExp
  /** Kinds of calls in the vendor's formats. */
  readonly kinds: ReadonlySet<CallKind>
  /** Field of a request that names the tier. */
  readonly field: string
  /** Prices by tier as a share or a multiple of the usual ones; the first entry that matches the model applies. */
  readonly factors: readonly (readonly [models: RegExp, factors: Readonly<Record<string, number>>])[]
}

/** Priority processing is the earlier name of fast mode; both names are valid. */
const openAiFactors = (fast: number) => ({ flex: 0.5, priority: fast, fast, ultrafast: 6 })

/**
 * Source: OpenAI's pages "Pricing", "Fast mode", "Ultrafast mode" and "Flex processing", and Anthropic's page "Fast
 * mode".
 */
const vendors: readonly Vendor[] = [
  {
    providers: /^(openai|azure|openrouter)$/,
    kinds: new Set(['chat', 'responses']),
    field: 'service_tier',
    factors: [
      [/^(openai\/)?gpt-5\.5/, openAiFactors(2.5)],
      [/^(openai\/)?gpt-5-mini/, openAiFactors(1.8)],
      [/^(openai\/)?(gpt-4\.1(?!-nano)|o3|gpt-4o-2024-05-13)/, openAiFactors(1.75)],
      [/^(openai\/)?gpt-4o-mini/, openAiFactors(5 / 3)],
      [/^(openai\/)?gpt-4o/, openAiFactors(1.7)],
      [/^(openai\/)?o4-mini/, openAiFactors(20 / 11)],
      [/^(openai\/)?(gpt-|o\d|codex)/, openAiFactors(2)],
    ],
  },
  {
    providers: /^(anthropic|vertex)$/,
    kinds: new Set(['messages']),
    field: 'speed',
    factors: [
      [/claude-opus-4-[67]/, { fast: 6 }],
      [/claude/, { fast: 2 }],
    ],
  },
]

/** Fields of requests that name a tier. */
export const tierFields: readonly string[] = vendors.map(({ field }) => field)

/** Returns the vendor of a model's provider that charges by tier; undefined for all others. */
const vendorOf = ({ deployment: { baseModel, provider } }: DeployedModel): Vendor | undefined =>
  vendors.find(({ providers }) => providers.test(baseModel?.provider ?? provider))

interface NamedTier {
  readonly vendor: Vendor
  readonly tier: string
}

/** Returns the tier that a request names, with the vendor of its format. `members` are those of its body. */
function namedTier({ kind, body }: Pick<Call, 'kind' | 'body'>, members?: OwnMembers): NamedTier | undefined {
  const vendor = vendors.find(({ kinds }) => kinds.has(kind))
  if (!vendor || !(members ?? body.includes(`"${vendor.field}"`))) return undefined
  const { names = [], values = [] } = members ?? ownMembers(body, keysOf([vendor.field])) ?? {}
  const span = values[names.indexOf(vendor.field)]
  const tier = span && textIn(JSON.parse(body.toString('utf8', span.start, span.end)))
  return tier === undefined ? undefined : { vendor, tier }
}

function factorOf(tier: string, target: DeployedModel, { factors }: Vendor): number {
  const found = factors.find(([models]) => models.test(baseModelOf(target)))?.[1]
  return found && Object.hasOwn(found, tier) ? (found[tier] ?? 1) : 1
}

function priceTimes(price: ModelPrice, factor: number, tier: string): ModelPrice {
  const rates = scaled(price.rates, factor)
  return { ...price, rates, label: `${price.label}, ${tier}`, applied: createAppliedRates(rates) }
}

/** Returns the price of a call in the tier that the upstream stated, else in the one that the request names. */
export function priceInTier(
  price: ModelPrice,
  target: DeployedModel,
  { call, stated }: { readonly call: Pick<Call, 'kind' | 'body'>; readonly stated: string | undefined },
): ModelPrice {
  const vendor = vendorOf(target)
  if (!vendor) return price
  const named = stated === undefined ? namedTier(call) : { vendor, tier: stated }
  // Translation to the format of another vendor drops the tier.
  if (named?.vendor !== vendor) return price
  const factor = factorOf(named.tier, target, vendor)
  return factor === 1 ? price : priceTimes(price, factor, named.tier)
}

/** Returns facts with the prices of the tier that a request names, where they are higher than the usual ones. */
export function factsInTier(
  call: Pick<Call, 'kind' | 'body'>,
  members: OwnMembers | undefined,
  factsOf: PriceBook['factsOf'],
): PriceBook['factsOf'] {
  const named = namedTier(call, members)
  if (!named) return factsOf
  const { vendor, tier } = named
  return target => {
    const facts = factsOf(target)
    const factor = vendorOf(target) === vendor ? factorOf(tier, target, vendor) : 1
    return facts.price && factor > 1 ? { ...facts, price: priceTimes(facts.price, factor, tier) } : facts
  }
}
