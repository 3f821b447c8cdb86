import type { RateName, TieredRate } from '../../config/deployments.ts'
import type { Protocol } from '../../config/protocols.ts'
import { usdOf } from '../../platform/usd.ts'
import { baseModelOf, type DeployedModel, type Units } from '../core/call.ts'
import type { InputBound } from '../tokens/input-bound.ts'
import { perToken } from './cost.ts'
import type { ModelFacts } from './price-book.ts'
import { toolChargeOf } from './tool-fees.ts'

/** Model that may serve a call. */
export interface Candidate extends DeployedModel {
  /** Absent where the bound does not depend on it. */
  readonly protocol?: Protocol
}

interface Call {
  readonly input: InputBound
  /** 0 when the request names none. */
  readonly maxTokens: number
  /** False for embeddings. */
  readonly hasOutput: boolean
  /** Bytes of text per token; 1 is always a safe bound. */
  readonly bytesPerToken: number
  /** Assumed calls of a provider tool that the request does not limit. */
  readonly unlimitedCalls: number
}

/** Maximum cost and tokens of a call over all candidates. */
export interface WorstCase {
  /** US dollars as an exact decimal; null when it cannot be bounded. */
  readonly amountUsd: string | null
  /** Null when they cannot be bounded. */
  readonly tokens: number | null
  /** Which figure is missing for a bound. */
  readonly unknown?: 'price' | 'output' | 'input'
}

/**
 * Returns the maximum cost of a call: all input at the highest input rate, the maximum output at the highest output
 * rate, and all provider tool calls at their fees. Candidates without a price are skipped; without any other candidate
 * the amount is null. Our choice when a figure is missing: null instead of an estimate. Source: Gateway, section 4.
 */
export function worstCase(
  call: Call,
  candidates: readonly Candidate[],
  factsOf: (model: DeployedModel) => ModelFacts,
): WorstCase {
  let maxCost = 0n
  let tokens = 0
  let isPriced = false
  for (const candidate of candidates) {
    const facts = factsOf(candidate)
    const input = inputTokens(call, candidate, facts)
    if (input === undefined) return { amountUsd: null, tokens: null, unknown: 'input' }
    const output = outputTokens(call, facts)
    if (output === undefined) return { amountUsd: null, tokens: null, unknown: 'output' }
    tokens = Math.max(tokens, input + output)
    const cost = maxTokenCost(call.input, { input, output }, facts)
    if (cost === undefined) continue
    isPriced = true
    const total = cost + toolChargeOf(candidate, toolCallsAt(candidate, call)).pico
    if (total > maxCost) maxCost = total
  }
  return isPriced ? { amountUsd: usdOf(maxCost), tokens } : { amountUsd: null, tokens, unknown: 'price' }
}

/** Gemini's format cannot limit searches, so a limit in the client's request does not apply there. */
function toolCallsAt({ protocol }: Candidate, { input: { toolCalls }, unlimitedCalls }: Call): Units {
  const { web_search: searches = 0 } = toolCalls
  if (protocol !== 'gemini' || searches === 0) return toolCalls
  return { ...toolCalls, web_search: Math.max(searches, unlimitedCalls) }
}

/** Tokens that providers add to a request: the frame of a conversation, and the instructions for tools. */
const tokensAround = 500
const tokensPerTool = 1_000
/** Tokens that one search or one fetched page adds. Our choice: no provider states a limit. */
const tokensPerProviderCall = 25_000
/**
 * The largest image at the highest detail. Some OpenAI models count 33 times as many tokens per image, at a lower
 * price.
 */
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
    input.audioTokens +
    input.providerCalls * tokensPerProviderCall +
    input.tools * tokensPerTool +
    tokensAround +
    window
  )
}

const tokensPerImageFor = (model: DeployedModel): number =>
  tokensPerImageOf.find(([names]) => names.test(baseModelOf(model)))?.[1] ?? tokensPerImage

/** Some upstreams reject a lower limit, so that the gateway raises it to this. */
const minOutput = 16

function outputTokens({ input, maxTokens, hasOutput }: Call, facts: ModelFacts): number | undefined {
  if (!hasOutput) return 0
  const each = maxTokens === 0 ? (facts.maxOutput ?? facts.contextWindow) : Math.max(maxTokens, minOutput)
  return each === undefined ? undefined : each * input.answers
}

/** Returns the maximum cost in pico-dollars; undefined without a price. */
function maxTokenCost(
  { hasAudio, answersInAudio }: InputBound,
  { input, output }: { readonly input: number; readonly output: number },
  { price }: ModelFacts,
): bigint | undefined {
  if (!price || (output > 0 && !price.rates.output)) return undefined
  const highestOf = (names: readonly RateName[]): number =>
    names.reduce((most, name) => Math.max(most, highestRate(price.rates[name], input)), 0)
  const inputRate = highestOf(hasAudio ? [...inputRates, 'inputAudio', 'cacheReadAudio'] : inputRates)
  const outputRate = highestOf(answersInAudio ? ['output', 'outputAudio'] : ['output'])
  return BigInt(input) * perToken(inputRate) + BigInt(output) * perToken(outputRate)
}

const inputRates: readonly RateName[] = ['input', 'cacheRead', 'cacheWrite5m', 'cacheWrite1h']

/** Returns the highest rate of the tiers that apply to `input` tokens or fewer. */
function highestRate(rate: TieredRate | undefined, input: number): number {
  if (!rate) return 0
  const { base, tiers } = rate
  let highest = base
  for (const { above, rate } of tiers) if (above < input) highest = Math.max(highest, rate)
  return highest
}
