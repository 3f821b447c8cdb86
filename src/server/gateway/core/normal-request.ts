import { recordOf, textOf } from '../../platform/json.ts'
import { withinAnswerLimit, withinCapabilities, withinSamplingRanges } from './answer-settings.ts'
import type { Target } from './call.ts'
import { withClaudeSchema } from './claude-schema.ts'
import { withClientTools } from './client-tools.ts'
import type { CanonicalRequest } from './codec.ts'
import type { Degradation } from './degradations.ts'
import {
  type StepOptions,
  withImageTypes,
  withMatchedCalls,
  withoutForeignThinking,
  withPossibleThinking,
  withToolsOfHistory,
  withTrimmedPrefill,
} from './normal-history.ts'
import { type ToolNames, withLegalNames } from './tool-names.ts'

/** A canonical request as the formats may write it for one target. */
export interface NormalRequest {
  /** The request itself when nothing had to change. */
  readonly request: CanonicalRequest
  /** What changed, but for names of tools: the answer restores those. */
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
  withinAnswerLimit,
  withinSamplingRanges,
]

/**
 * Returns `request`, in Anthropic's vocabulary, without what clients send by habit and upstreams refuse, misread or do
 * not cache. Every translated call passes here before its upstream's format writes it.
 */
export function normalRequest(request: CanonicalRequest, target: Target): NormalRequest {
  const degraded: Degradation[] = []
  const note = (path: string, action: string): void => {
    degraded.push({ path, action })
  }
  const normal = steps.reduce((last, step) => step(last, { target, note }), request)
  return { ...withLegalNames(normal, target.protocol), degraded }
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
