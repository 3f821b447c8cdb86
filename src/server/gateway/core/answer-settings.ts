import { isAnthropicFormat, protocols } from '../../config/protocols.ts'
import { isRecord, recordOf } from '../../platform/json.ts'
import { isClaude, traitsOf } from '../formats/shared/model-traits.ts'
import { modelLimits } from '../pricing/price-book.ts'
import { baseModelOf, type Target } from './call.ts'
import type { CanonicalRequest } from './codec.ts'
import type { StepOptions } from './normal-history.ts'

/** Output limit where one is required, and neither the client nor the list of models states one. Our choice. */
const defaultMaxTokens = 32_000

/**
 * Returns the request with an output limit that its model accepts: a higher limit is lowered. A missing limit is added
 * only in Anthropic's format, which requires one: the model's maximum, so that it does not shorten the answer.
 */
export function withinAnswerLimit(request: CanonicalRequest, { target, note }: StepOptions): CanonicalRequest {
  const maxOutput = modelLimits(target).maxOutput
  const { max_tokens: given, thinking } = request
  if (typeof given !== 'number') {
    return isAnthropicFormat(target.protocol) ? { ...request, max_tokens: maxOutput ?? defaultMaxTokens } : request
  }
  if (maxOutput === undefined || given <= maxOutput) return request
  note('max_tokens', 'lowered')
  const lowered = { ...request, max_tokens: maxOutput }
  if (!isRecord(thinking) || !(Number(thinking['budget_tokens']) >= maxOutput)) return lowered
  // Thinking counts toward the limit, and some tokens must remain for the answer.
  note('thinking.budget_tokens', 'lowered')
  return { ...lowered, thinking: { ...thinking, budget_tokens: Math.floor(maxOutput / 2) } }
}

/** Returns the request without thinking, where the model is configured without the capability `reasoning`. */
export function withinCapabilities(request: CanonicalRequest, { target, note }: StepOptions): CanonicalRequest {
  if (target.deployment.capabilities?.reasoning !== false) return request
  const { thinking, output_config: config, ...rest } = request
  const { effort, ...others } = recordOf(config)
  if (thinking === undefined && effort === undefined) return request
  if (isRecord(thinking) && thinking['type'] !== 'disabled') note('thinking', 'dropped')
  if (effort !== undefined) note('output_config.effort', 'dropped')
  return { ...rest, ...(Object.keys(others).length > 0 && { output_config: others }) }
}

/** Returns the request without a forced choice of a tool, where the model rejects one: the model then decides. */
export function withPossibleChoice(request: CanonicalRequest, { target, note }: StepOptions): CanonicalRequest {
  const { type, name: _, ...others } = recordOf(request['tool_choice'])
  const isForced = type === 'any' || type === 'tool'
  if (!isForced || !isClaude(target) || traitsOf(baseModelOf(target)).takesForcedChoice) return request
  note('tool_choice', 'auto')
  return { ...request, tool_choice: { type: 'auto', ...others } }
}

/** Returns the request with as little thinking as the model can be set to, where it rejects `disabled`. */
export function withLeastThinking(request: CanonicalRequest, { target, note }: StepOptions): CanonicalRequest {
  const { thinking, output_config: config, ...others } = request
  if (recordOf(thinking)['type'] !== 'disabled' || !isClaude(target)) return request
  const { noThinking } = traitsOf(baseModelOf(target))
  if (noThinking !== 'between_tools' && noThinking !== 'low_effort') return request
  note('thinking', noThinking)
  if (noThinking === 'between_tools') return { ...request, thinking: { type: noThinking } }
  return { ...others, output_config: { effort: 'low', ...recordOf(config) } }
}

/** Returns the maximum of a sampling setting. OpenAI's formats and Gemini accept temperatures up to 2. */
function maxOf(name: 'temperature' | 'top_p' | 'top_k', protocol: Target['protocol']): number {
  if (name === 'top_k') return Number.POSITIVE_INFINITY
  return name === 'top_p' ? 1 : protocols[protocol].maxTemperature
}

/** Returns the request with sampling settings in the ranges of its upstream, which would reject the call otherwise. */
export function withinSamplingRanges(request: CanonicalRequest, { target, note }: StepOptions): CanonicalRequest {
  const changed: Record<string, unknown> = {}
  for (const name of ['temperature', 'top_p', 'top_k'] as const) {
    const value = request[name]
    if (typeof value !== 'number') continue
    const within = Math.min(Math.max(value, 0), maxOf(name, target.protocol))
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
