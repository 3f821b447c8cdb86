import { isRecord, recordOf, textOf, withEntries } from '../../platform/json.ts'
import { withBreakpoint } from '../formats/shared/extras.ts'
import { takesCacheBreakpoints } from '../formats/shared/model-traits.ts'
import { withinAnswerLimit, withinCapabilities, withinSamplingRanges } from './answer-settings.ts'
import type { Target } from './call.ts'
import { withClaudeSchema } from './claude-schema.ts'
import { withClientTools } from './client-tools.ts'
import type { CanonicalRequest } from './codec.ts'
import { type Degradation, inOwnNames, type OwnNames } from './degradations.ts'
import {
  type StepOptions,
  withImageTypes,
  withMatchedCalls,
  withoutForeignThinking,
  withPossibleThinking,
  withToolsOfHistory,
  withTrimmedPrefill,
} from './normal-history.ts'
import { surveyOf } from './survey.ts'
import { type ToolNames, withLegalNames } from './tool-names.ts'

/** A canonical request as the formats may write it for one target. */
export interface NormalRequest {
  /** The request itself when nothing had to change. */
  readonly request: CanonicalRequest
  /** What changed, in the client's own names, but for names of tools: the answer restores those. */
  readonly degraded: readonly Degradation[]
  readonly names: ToolNames
}

/** Returns the request, or a changed copy. */
type Step = (request: CanonicalRequest, options: StepOptions) => CanonicalRequest

const steps: readonly Step[] = [
  withoutBillingHeader,
  withClientTools,
  withinCapabilities,
  withoutForeignThinking,
  withPossibleThinking,
  withMatchedCalls,
  withToolsOfHistory,
  withTrimmedPrefill,
  withImageTypes,
  withClaudeSchema,
  withCacheBreakpoints,
  withinAnswerLimit,
  withinSamplingRanges,
]

/**
 * Returns `request`, in Anthropic's vocabulary, without what clients send by habit and upstreams refuse, misread or do
 * not cache. Every translated call passes here before its upstream's format writes it. What changed is named as its client does.
 */
export function normalRequest(request: CanonicalRequest, target: Target, names: OwnNames = {}): NormalRequest {
  const degraded: Degradation[] = []
  const survey = surveyOf(request)
  let normal = request
  const note = (path: string, action: string): void =>
    void degraded.push(...inOwnNames([{ path, action }], names, normal))
  for (const step of steps) normal = step(normal, { target, survey, note })
  return { ...withLegalNames(normal, survey.toolNames, target.protocol), degraded }
}

const billingHeader = 'x-anthropic-billing-header'

/** Claude Code begins its instructions with a hash that is new in each request: no other provider's cache would match. */
function withoutBillingHeader(request: CanonicalRequest, { note }: StepOptions): CanonicalRequest {
  const { system, ...rest } = request
  if (typeof system === 'string') {
    if (!system.startsWith(billingHeader)) return request
    note('system', 'billing_header_dropped')
    const text = system.slice(`${system}\n`.indexOf('\n')).trimStart()
    return text === '' ? rest : { ...request, system: text }
  }
  if (!Array.isArray(system)) return request
  const blocks: readonly unknown[] = system
  const isBilling = (block: unknown): boolean => textOf(recordOf(block)['text']).startsWith(billingHeader)
  if (!blocks.some(isBilling)) return request
  for (const [index, block] of blocks.entries()) if (isBilling(block)) note(`system.${index}`, 'dropped')
  const kept = blocks.filter(block => !isBilling(block))
  return kept.length === 0 ? rest : { ...request, system: kept }
}

/** OpenAI writes four for a request, of which it sets one itself, near the end of the prompt. */
const mostBreakpoints = 3

/**
 * The request with the client's marks of its cache as breakpoints, where the model has such: on instructions, on what the user
 * says and on results, the first ones of too many. Tools and the model's own words cannot have any.
 */
function withCacheBreakpoints(request: CanonicalRequest, { target, note }: StepOptions): CanonicalRequest {
  if (!takesCacheBreakpoints(target)) return request
  let left = mostBreakpoints
  const settled = (block: unknown, path: string, isTaken: boolean): unknown => {
    if (!isRecord(block)) return block
    const isResult = block['type'] === 'tool_result'
    const inside = isResult
      ? withEntries(block, 'content', (part, at) => settled(part, `${path}.content.${at}`, true))
      : block
    const { cache_control: mark, ...rest } = inside
    if (mark === undefined) return inside
    if (!isRecord(mark)) return rest
    if (!isTaken || left === 0) {
      note(`${path}.cache_control`, 'dropped')
      return rest
    }
    left--
    // All entries live for half an hour, which is longer than the usual five minutes.
    if (mark['ttl'] === '1h') note(`${path}.cache_control.ttl`, 'dropped')
    return withBreakpoint(rest)
  }
  const { cache_control: _, ...unmarked } = request
  const inTools = withEntries(unmarked, 'tools', (tool, at) => settled(tool, `tools.${at}`, false))
  const inSystem = withEntries(inTools, 'system', (block, at) => settled(block, `system.${at}`, true))
  return withEntries(inSystem, 'messages', (message, at) => settledMessage(message, `messages.${at}.content`, settled))
}

type Settle = (block: unknown, path: string, isTaken: boolean) => unknown

const settledMessage = (message: unknown, path: string, settled: Settle): unknown =>
  isRecord(message)
    ? withEntries(message, 'content', (block, at) => settled(block, `${path}.${at}`, message['role'] !== 'assistant'))
    : message
