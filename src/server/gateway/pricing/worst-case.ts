import type { Protocol, RateName, TieredRate } from '../../config/config.ts'
import { usdOf } from '../../platform/usd.ts'
import { baseModelOf, type DeployedModel, type Units } from '../core/call.ts'
import type { InputBound } from '../tokens/input-bound.ts'
import { perToken } from './cost.ts'
import type { ModelFacts } from './price-book.ts'
import { toolChargeOf } from './tool-fees.ts'

/** A model that may serve a call. */
export interface Candidate extends DeployedModel {
  /** Absent where it makes no difference. */
  readonly protocol?: Protocol
}

interface Call {
  readonly input: InputBound
  /** 0 when the request names none. */
  readonly maxTokens: number
  /** False for embeddings. */
  readonly hasOutput: boolean
  /** How many bytes of text count as one token; 1 is never too few. */
  readonly bytesPerToken: number
  /** Calls of a provider's tool where nothing limits them. */
  readonly unlimitedCalls: number
}

/** What a call can use at most, whichever of the candidates serves it. */
export interface WorstCase {
  /** US dollars as an exact decimal; null: nobody can tell. */
  readonly amountUsd: string | null
  /** Null: nobody can tell. */
  readonly tokens: number | null
  /** Why nobody can tell. */
  readonly unknown?: 'price' | 'output' | 'input'
}

/**
 * The dearest that the call can become: all of its input at the highest rate for input, all output that it may have at the
 * highest rate for output, all calls of the provider's tools at their fees. Candidates without a price are left out; with none
 * left there is no amount. Our choice where a figure is missing: no amount rather than a guess. Source: Gateway, section 4.
 */
export function worstCase(
  call: Call,
  candidates: readonly Candidate[],
  factsOf: (model: DeployedModel) => ModelFacts,
): WorstCase {
  let most = 0n
  let tokens = 0
  let isPriced = false
  for (const candidate of candidates) {
    const facts = factsOf(candidate)
    const input = inputTokens(call, candidate, facts)
    if (input === undefined) return { amountUsd: null, tokens: null, unknown: 'input' }
    const output = outputTokens(call, facts)
    if (output === undefined) return { amountUsd: null, tokens: null, unknown: 'output' }
    tokens = Math.max(tokens, input + output)
    const cost = costAtMost(input, output, facts)
    if (cost === undefined) continue
    isPriced = true
    const all = cost + toolChargeOf(candidate, toolCallsAt(candidate, call)).pico
    if (all > most) most = all
  }
  return isPriced ? { amountUsd: usdOf(most), tokens } : { amountUsd: null, tokens, unknown: 'price' }
}

/** Gemini's format has no limit for searches, whatever the client's request says. */
function toolCallsAt({ protocol }: Candidate, { input: { toolCalls }, unlimitedCalls }: Call): Units {
  const { web_search: searches = 0 } = toolCalls
  if (protocol !== 'gemini' || searches === 0) return toolCalls
  return { ...toolCalls, web_search: Math.max(searches, unlimitedCalls) }
}

/** What providers add to a request on their own: the frame of a conversation, and the instructions for tools. */
const tokensAround = 500
const tokensPerTool = 1_000
/** What one search or one fetched page adds. Our choice: no provider states a limit. */
const tokensPerProviderCall = 25_000
/** The largest picture at its finest; some models of OpenAI count pictures as 33 times as many tokens, at a lower price. */
const tokensPerImage = 10_000
const tokensPerImageOf: readonly (readonly [names: RegExp, tokens: number])[] = [[/gpt-4o-mini/, 50_000]]

function inputTokens(
  { input, bytesPerToken }: Call,
  model: DeployedModel,
  { contextWindow }: ModelFacts,
): number | undefined {
  const window = input.fillsWindow ? contextWindow : 0
  if (window === undefined) return undefined
  return (
    Math.ceil(input.textBytes / bytesPerToken) +
    (input.images === 0 ? 0 : input.images * tokensPerImageFor(model)) +
    input.providerCalls * tokensPerProviderCall +
    input.tools * tokensPerTool +
    tokensAround +
    window
  )
}

const tokensPerImageFor = (model: DeployedModel): number =>
  tokensPerImageOf.find(([names]) => names.test(baseModelOf(model)))?.[1] ?? tokensPerImage

/** Some upstreams take no lower limit than this, so that one is raised to it. */
const leastOutput = 16

function outputTokens({ input, maxTokens, hasOutput }: Call, facts: ModelFacts): number | undefined {
  if (!hasOutput) return 0
  const each = maxTokens === 0 ? (facts.maxOutput ?? facts.contextWindow) : Math.max(maxTokens, leastOutput)
  return each === undefined ? undefined : each * input.answers
}

/** Pico-dollars; undefined without a price. */
function costAtMost(input: number, output: number, { price }: ModelFacts): bigint | undefined {
  if (!price || (output > 0 && !price.rates.output)) return undefined
  const { rates } = price
  let dearest = 0
  for (const name of inputRates) dearest = Math.max(dearest, highestRate(rates[name], input))
  const cost = BigInt(input) * perToken(dearest)
  return rates.output ? cost + BigInt(output) * perToken(highestRate(rates.output, input)) : cost
}

const inputRates = ['input', 'cacheRead', 'cacheWrite5m', 'cacheWrite1h'] as const satisfies readonly RateName[]

/** Of all tiers that a call with so many tokens of input, or fewer, can come into. */
function highestRate({ base, tiers }: TieredRate, input: number): number {
  let highest = base
  for (const { above, rate } of tiers) if (above < input) highest = Math.max(highest, rate)
  return highest
}
