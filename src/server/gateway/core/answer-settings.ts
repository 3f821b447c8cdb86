import { isRecord, recordOf } from '../../platform/json.ts'
import { isAnthropicFormat, traitsOf } from '../formats/shared/model-traits.ts'
import { modelLimits } from '../pricing/price-book.ts'
import { baseModelOf, type Target } from './call.ts'
import type { CanonicalRequest } from './codec.ts'
import type { StepOptions } from './normal-history.ts'

/** What may be answered where a limit is required, and neither the client nor the list of models states one. Our choice. */
const usualMaxTokens = 32_000

/**
 * The request with a limit that its model takes: a higher one is lowered, and none is made up, but for
 * Anthropic's format, which requires one. That is the model's own then, so that the answer ends where it would have ended without.
 */
export function withinAnswerLimit(request: CanonicalRequest, { target, note }: StepOptions): CanonicalRequest {
  const most = modelLimits(target).maxOutput
  const { max_tokens: given, thinking } = request
  if (typeof given !== 'number') {
    return isAnthropicFormat(target.protocol) ? { ...request, max_tokens: most ?? usualMaxTokens } : request
  }
  if (most === undefined || given <= most) return request
  note('max_tokens', 'lowered')
  const lowered = { ...request, max_tokens: most }
  if (!isRecord(thinking) || !(Number(thinking['budget_tokens']) >= most)) return lowered
  // Thinking is a part of the answer, and something must remain to be said.
  note('thinking.budget_tokens', 'lowered')
  return { ...lowered, thinking: { ...thinking, budget_tokens: Math.floor(most / 2) } }
}

/** The request without a wish for thinking, where the operator says that the model cannot think. */
export function withinCapabilities(request: CanonicalRequest, { target, note }: StepOptions): CanonicalRequest {
  if (target.deployment.capabilities?.reasoning !== false) return request
  const { thinking, output_config: config, ...rest } = request
  const { effort, ...others } = recordOf(config)
  if (thinking === undefined && effort === undefined) return request
  if (isRecord(thinking) && thinking['type'] !== 'disabled') note('thinking', 'dropped')
  if (effort !== undefined) note('output_config.effort', 'dropped')
  return { ...rest, ...(Object.keys(others).length > 0 && { output_config: others }) }
}

/** Providers of OpenAI's formats, and Gemini, take temperatures up to 2. */
function highest(name: 'temperature' | 'top_p' | 'top_k', protocol: Target['protocol']): number {
  if (name === 'top_k') return Number.POSITIVE_INFINITY
  return name === 'top_p' || isAnthropicFormat(protocol) || protocol === 'bedrock-converse' ? 1 : 2
}

/** The request with sampling settings in the ranges that its upstream takes: it would refuse the call otherwise. */
export function withinSamplingRanges(request: CanonicalRequest, { target, note }: StepOptions): CanonicalRequest {
  const changed: Record<string, unknown> = {}
  for (const name of ['temperature', 'top_p', 'top_k'] as const) {
    const value = request[name]
    if (typeof value !== 'number') continue
    const within = Math.min(Math.max(value, 0), highest(name, target.protocol))
    if (within === value) continue
    changed[name] = within
    note(name, 'clamped')
  }
  const { temperature, top_p: topP } = request
  const isDoubled = typeof temperature === 'number' && typeof topP === 'number'
  if (isDoubled && !traitsOf(baseModelOf(target)).takesTemperatureWithTopP) {
    changed['top_p'] = undefined
    note('top_p', 'dropped')
  }
  return Object.keys(changed).length === 0 ? request : { ...request, ...changed }
}
