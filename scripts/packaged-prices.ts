import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { findProvider, type MatchLogic, type ModelInfo, type ModelPrice } from '@pydantic/genai-prices'
import type {
  NameMatch,
  PriceTable,
  TableModel,
  TablePeriod,
  TableProvider,
  TableRate,
} from '../src/server/gateway/pricing/price-table.ts'

/** The providers that deployments can have, and those whose prices hold at one of them. */
const providerNames = ['anthropic', 'openai', 'google', 'aws', 'azure', 'openrouter', 'deepseek', 'x-ai', 'moonshotai']

const rateNames = [
  'input_mtok',
  'output_mtok',
  'cache_read_mtok',
  'cache_write_mtok',
  'cache_write_1h_mtok',
  'input_audio_mtok',
  'cache_audio_read_mtok',
  'output_audio_mtok',
] as const satisfies (keyof TablePeriod)[]

/** Prices that token counts do not distinguish: such a model gets no price rather than one that is far too low. */
const untold = /^output_(image|video|reasoning)_|_messages_|_hours$/

/** What the installed package knows, less all that this service does not read. */
export function packagedPrices(): PriceTable {
  const manifest = join(import.meta.dirname, '..', 'node_modules', '@pydantic', 'genai-prices', 'package.json')
  const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }
  const license = 'MIT License, Copyright (c) Pydantic Services Inc. 2025 to present'
  const providers = providerNames.map(name => [name, providerOf(name)] as const)
  return { source: `@pydantic/genai-prices ${version}, ${license}`, providers: Object.fromEntries(providers) }
}

function providerOf(name: string): TableProvider {
  const provider = findProvider({ providerId: name })
  if (!provider) throw new Error(`@pydantic/genai-prices has no provider ${name}`)
  const fallbacks = provider.fallback_model_providers
  return { ...(fallbacks && { fallbacks }), models: provider.models.map(modelOf) }
}

function modelOf({ id, name, match, context_window, deprecated, prices }: ModelInfo): TableModel {
  const periods = periodsOf(prices)
  return {
    id,
    ...(name && { name }),
    match: inLowerCase(match),
    ...(context_window && { context_window }),
    ...(deprecated && { deprecated }),
    ...(periods && { periods }),
  }
}

/** Names are compared in lower case; patterns are written for that. */
function inLowerCase(match: MatchLogic): NameMatch {
  if ('or' in match) return { or: match.or.map(inLowerCase) }
  if ('and' in match) return { and: match.and.map(inLowerCase) }
  if ('regex' in match) return match
  const [[kind, text] = []] = Object.entries(match)
  return { [kind ?? '']: text?.toLowerCase() } as NameMatch
}

/** Undefined for a model without a price of input, and for one that costs more at some times of the day. */
function periodsOf(prices: ModelInfo['prices']): TablePeriod[] | undefined {
  const list = Array.isArray(prices) ? prices : [{ prices }]
  const isReported = list.every(
    ({ constraint, prices: rates }) =>
      constraint?.type !== 'time_of_date' &&
      rates['input_mtok'] !== undefined &&
      !Object.keys(rates).some(key => untold.test(key)),
  )
  if (!isReported) return undefined
  return list.map(({ constraint, prices: rates }) => ({
    ...(constraint?.type === 'start_date' && { from: constraint.start_date }),
    ...ratesOf(rates),
  }))
}

function ratesOf(prices: ModelPrice): Omit<TablePeriod, 'from'> {
  const rates = rateNames.flatMap((name): [string, TableRate][] => {
    const rate = prices[name]
    return rate === undefined ? [] : [[name, rate]]
  })
  return Object.fromEntries(rates)
}

/** The table as text, one model a line, so that a change of a price is a change of a line. */
export function printed({ source, providers }: PriceTable): string {
  const blocks = Object.entries(providers).map(([name, { fallbacks, models }]) => {
    const lines = models.map(model => `      ${JSON.stringify(model)}`).join(',\n')
    const head = fallbacks ? `\n      "fallbacks": ${JSON.stringify(fallbacks)},` : ''
    return `    ${JSON.stringify(name)}: {${head}\n      "models": [\n${lines}\n      ]\n    }`
  })
  return `{\n  "source": ${JSON.stringify(source)},\n  "providers": {\n${blocks.join(',\n')}\n  }\n}\n`
}
