import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Says which model names, in lower case, an entry stands for. */
export type NameMatch =
  | { readonly or: readonly NameMatch[] }
  | { readonly and: readonly NameMatch[] }
  | { readonly equals: string }
  | { readonly starts_with: string }
  | { readonly ends_with: string }
  | { readonly contains: string }
  | { readonly regex: string }

/** US dollars per million tokens; a tier holds for calls with more input than `start`, and then for all of their tokens. */
export type TableRate =
  | number
  | { readonly base: number; readonly tiers: readonly { readonly start: number; readonly price: number }[] }

/** Rates from a day on, `from` in UTC; without it from the beginning. */
export interface TablePeriod {
  readonly from?: string
  readonly input_mtok?: TableRate
  readonly output_mtok?: TableRate
  readonly cache_read_mtok?: TableRate
  readonly cache_write_mtok?: TableRate
  readonly cache_write_1h_mtok?: TableRate
}

/** One entry of the table; without periods its price cannot be told from counts of tokens. */
export interface TableModel {
  readonly id: string
  readonly name?: string
  readonly match: NameMatch
  readonly context_window?: number
  readonly deprecated?: true
  /** From old to new. */
  readonly periods?: readonly TablePeriod[]
}

/** What a provider charges. */
export interface TableProvider {
  /** Where to look for models that this one serves at their makers' prices. */
  readonly fallbacks?: readonly string[]
  readonly models: readonly TableModel[]
}

/** Prices by provider, as `npm run prices` makes them. Decision 0006. */
export interface PriceTable {
  readonly source: string
  readonly providers: Readonly<Record<string, TableProvider>>
}

let table: PriceTable | undefined

/** The table that comes with the service; read once, when it is first needed. */
export function priceTable(): PriceTable {
  table ??= JSON.parse(readFileSync(join(import.meta.dirname, 'price-table.json'), 'utf8')) as PriceTable
  return table
}

/** Name and version of the list that the table was made from, such as `genai-prices 0.1.8`. */
export const tableVersion = (): string =>
  priceTable()
    .source.replace(/^@\w+\//, '')
    .split(',')[0] ?? ''

/** Our names of providers that the table has under another one. */
const tableNames: Readonly<Record<string, string>> = { gemini: 'google', vertex: 'google', bedrock: 'aws' }

/** The entries of one of our providers; undefined for one that has no price list, such as a server of one's own. */
export const tableProvider = (provider: string): TableProvider | undefined => {
  const name = tableNames[provider] ?? provider
  const { providers } = priceTable()
  return Object.hasOwn(providers, name) ? providers[name] : undefined
}

/** The first entry that stands for `model` at `provider`, or at those whose prices hold there. */
export function findInTable(provider: string, model: string): TableModel | undefined {
  const given = tableProvider(provider)
  if (!given) return undefined
  const name = model.toLowerCase()
  const dashed = withDashedDate(name)
  return entryOf(given, name) ?? (dashed === name ? undefined : entryOf(given, dashed))
}

function entryOf(provider: TableProvider, name: string): TableModel | undefined {
  const fallbacks = (provider.fallbacks ?? []).map(fallback => priceTable().providers[fallback])
  for (const { models } of [provider, ...fallbacks.filter(found => found !== undefined)]) {
    const found = models.find(({ match }) => isMatch(match, name))
    if (found) return found
  }
  return undefined
}

/** Some providers write `-2026-01-31` in names, others `-20260131`. */
const withDashedDate = (name: string): string =>
  name.replaceAll(/-(20\d{2})(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(?=-|:|$)/g, '-$1-$2-$3')

function isMatch(match: NameMatch, name: string): boolean {
  if ('or' in match) return match.or.some(part => isMatch(part, name))
  if ('and' in match) return match.and.every(part => isMatch(part, name))
  if ('equals' in match) return name === match.equals
  if ('starts_with' in match) return name.startsWith(match.starts_with)
  if ('ends_with' in match) return name.endsWith(match.ends_with)
  if ('contains' in match) return name.includes(match.contains)
  return new RegExp(match.regex).test(name)
}

const date = /-20\d{2}-?\d{2}-?\d{2}$/

/** True for a model that the table lists by this id, with or without a date behind it. */
export function isListed(provider: string, id: string): boolean {
  const undated = id.replace(date, '')
  return tableProvider(provider)?.models.some(model => model.id === id || model.id === undated) ?? false
}

/** The rates that hold at `time`. */
export function periodAt({ periods = [] }: TableModel, time: Date): TablePeriod | undefined {
  return periods.findLast(({ from }) => from === undefined || time >= new Date(from)) ?? periods[0]
}

/**
 * Prices that the table leaves out: of models whose output is pictures, and of dated versions. All output of an image model
 * counts as pictures, its few tokens of text too. Source: OpenAI's page of each model, "Pricing".
 */
const besides: readonly (readonly [names: RegExp, TablePeriod])[] = [
  [/^(gpt-image-1\.5|chatgpt-image)/, { input_mtok: 5, cache_read_mtok: 1.25, output_mtok: 32 }],
  [/^gpt-image-2/, { input_mtok: 5, cache_read_mtok: 1.25, output_mtok: 30 }],
  [/^gpt-4o-transcribe/, { input_mtok: 2.5, output_mtok: 10 }],
  [/^gpt-4o-mini-transcribe/, { input_mtok: 1.25, output_mtok: 5 }],
  [/^gpt-4o-mini-tts/, { input_mtok: 0.6, output_mtok: 12 }],
]

/** The rates of a model that the table has no price for. */
export const periodBeside = (provider: string, model: string): TablePeriod | undefined =>
  provider === 'openai' || provider === 'azure' ? besides.find(([names]) => names.test(model))?.[1] : undefined
