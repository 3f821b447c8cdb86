import { recordsOf } from '../../platform/json.ts'
import { usdOf } from '../../platform/usd.ts'
import { keysOf, ownMembers } from '../bytes/json-members.ts'
import { baseModelOf, type Call, type DeployedModel, type Unit, type Units } from '../core/call.ts'
import { isSearchPreview } from '../tokens/input-bound.ts'
import type { TokenCounts } from '../tokens/token-counts.ts'
import { picoOf } from './cost.ts'

interface Fees {
  readonly providers: RegExp
  readonly models: RegExp
  /** US dollars per tool call. Without a rate for `web_search_preview` that of `web_search` applies. */
  readonly rates: Readonly<Partial<Record<Unit, number>>>
  /** True: searches are charged once per request, whatever the number of queries. */
  readonly isOncePerRequest?: true
}

/**
 * Fees of tools that providers run. OpenAI's earlier search tool costs more with models that do not reason. Source: the
 * pages "Pricing" of Anthropic, OpenAI (section of built-in tools) and Google ("Grounding with Google Search").
 */
const toolFees: readonly Fees[] = [
  { providers: /^(anthropic|vertex|openrouter)$/, models: /claude/, rates: { web_search: 0.01 } },
  { providers: /^(openai|azure)$/, models: /search-preview/, rates: { web_search: 0.025 } },
  {
    providers: /^(openai|azure)$/,
    models: /^(ft:)?gpt-4/,
    rates: { web_search: 0.01, web_search_preview: 0.025, file_search: 0.0025, code_container: 0.03 },
  },
  {
    providers: /^(openai|azure)$/,
    models: /^/,
    rates: { web_search: 0.01, file_search: 0.0025, code_container: 0.03 },
  },
  { providers: /^(gemini|vertex)$/, models: /gemini-[12]\b/, rates: { web_search: 0.035 }, isOncePerRequest: true },
  { providers: /^(gemini|vertex)$/, models: /gemini/, rates: { web_search: 0.014 } },
]

/** Returns the fees of the model's provider; undefined when it publishes none. */
function toolFeesOf(target: DeployedModel): Pick<Fees, 'rates' | 'isOncePerRequest'> | undefined {
  const { baseModel, provider, searchPrice } = target.deployment
  const [at, model] = [baseModel?.provider ?? provider, baseModelOf(target).toLowerCase()]
  const found = toolFees.find(({ providers, models }) => providers.test(at) && models.test(model))
  if (searchPrice === undefined) return found
  return { ...found, rates: { ...found?.rates, web_search: searchPrice, web_search_preview: searchPrice } }
}

/** Returns the calls of provider tools in the counts of a response, without the tools that were not called. */
export function toolCallsOf(
  { web_searches, file_searches, code_containers }: TokenCounts,
  call: Pick<Call, 'kind' | 'body'>,
): Units {
  if (web_searches + file_searches + code_containers === 0) return noCalls
  return {
    ...(web_searches > 0 && { [usesPreview(call) ? 'web_search_preview' : 'web_search']: web_searches }),
    ...(file_searches > 0 && { file_search: file_searches }),
    ...(code_containers > 0 && { code_container: code_containers }),
  }
}

/** Shared by nearly all responses. */
const noCalls: Units = {}

const toolsKey = keysOf(['tools'])

/** Reports whether a request offers OpenAI's earlier search tool, which only Responses has. */
function usesPreview({ kind, body }: Pick<Call, 'kind' | 'body'>): boolean {
  if (kind !== 'responses' || !body.includes('web_search_preview')) return false
  const [span] = ownMembers(body, toolsKey)?.values ?? []
  const tools: unknown = span && JSON.parse(body.toString('utf8', span.start, span.end))
  return recordsOf(tools).some(isSearchPreview)
}

function isAny(calls: Units): boolean {
  for (const unit in calls) if ((calls[unit as Unit] ?? 0) > 0) return true
  return false
}

interface ToolCharge {
  readonly pico: bigint
  /** US dollars per call, as exact decimals. */
  readonly rates: Readonly<Record<string, string>>
}

const noCharge: ToolCharge = { pico: 0n, rates: {} }

/** Returns the known fees of provider tool calls in pico-dollars, and the rates by unit. */
export function toolChargeOf(target: DeployedModel, calls: Units): ToolCharge {
  if (!isAny(calls)) return noCharge
  const fees = toolFeesOf(target)
  const charged = (Object.entries(calls) as [Unit, number][]).flatMap(([unit, count]) => {
    const fee = fees?.rates[unit] ?? (unit === 'web_search_preview' ? fees?.rates.web_search : undefined)
    if (fee === undefined) return []
    const times = fees?.isOncePerRequest && unit === 'web_search' ? Math.min(count, 1) : count
    return [{ unit, fee, pico: picoOf(fee, times) }]
  })
  return {
    pico: charged.reduce((sum, { pico }) => sum + pico, 0n),
    rates: Object.fromEntries(charged.map(({ unit, fee }) => [unit, usdOf(picoOf(fee, 1))])),
  }
}
