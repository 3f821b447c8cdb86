import { isOpenAiFormat, protocols } from '../../../config/protocols.ts'
import { baseModelOf, type Target } from '../../core/call.ts'

/** Settings that a model accepts. */
export interface ModelTraits {
  /** False if the model rejects temperature, top_p and top_k. */
  readonly takesSampling: boolean
  /** False if the model rejects temperature together with top_p. */
  readonly takesTemperatureWithTopP: boolean
  /** False if the model rejects a conversation that ends with the start of its answer (a prefill). */
  readonly takesPrefill: boolean
  /** False if the model cannot be forced to call a tool. */
  readonly takesForcedChoice: boolean
  /** `adaptive` models choose their thinking budget; `budget` models need a number of tokens; others cannot think. */
  readonly thinking: 'adaptive' | 'budget' | 'none'
  /**
   * How thinking is turned off: models that think by default need `disabled` or `between_tools`, or think always, with
   * `low_effort` at the least; for others the field is left out.
   */
  readonly noThinking: 'disabled' | 'between_tools' | 'low_effort' | 'omitted'
  readonly efforts: readonly string[]
}

const allEfforts = ['low', 'medium', 'high', 'xhigh', 'max']

/** Traits of models other than Claude. The codec of their protocol applies their restrictions. */
const otherModels: ModelTraits = {
  takesSampling: true,
  takesTemperatureWithTopP: true,
  takesPrefill: true,
  takesForcedChoice: true,
  thinking: 'adaptive',
  noThinking: 'disabled',
  efforts: allEfforts,
}

/**
 * Returns the traits of a model by its name. Claude rejects temperature with top_p from 4.1, thinks from 3.7, needs a
 * thinking budget before 4.6, rejects prefills from 4.6 and sampling settings from 4.7, thinks by default from 5, and
 * except for Haiku rejects forced calls from 5.1. Source: Anthropic's migration guides.
 */
export function traitsOf(model: string): ModelTraits {
  const version = claudeVersion(model)
  if (version === undefined) return otherModels
  const known = {
    takesTemperatureWithTopP: version < 4.1,
    takesPrefill: version < 4.6,
    takesForcedChoice: version < 5.1 || model.includes('haiku'),
  }
  if (version < 4.6) {
    const thinking = version < 3.7 ? 'none' : 'budget'
    return { ...known, takesSampling: true, thinking, noThinking: 'omitted', efforts: [] }
  }
  if (version < 4.7) {
    const efforts = ['low', 'medium', 'high', 'max']
    return { ...known, takesSampling: true, thinking: 'adaptive', noThinking: 'omitted', efforts }
  }
  const noThinking = noThinkingOf(model, version)
  return { ...known, takesSampling: false, thinking: 'adaptive', noThinking, efforts: allEfforts }
}

function noThinkingOf(model: string, version: number): ModelTraits['noThinking'] {
  if (version < 5) return 'omitted'
  if (model.includes('haiku') || (version < 5.5 && /opus|sonnet/.test(model))) return 'disabled'
  return model.includes('sonnet') ? 'between_tools' : 'low_effort'
}

/**
 * Returns 4.6 for `claude-opus-4-6`, `us.anthropic.claude-opus-4-6-v1:0` and `anthropic/claude-4.6-opus`, 4 for a 4
 * that a date follows.
 */
function claudeVersion(model: string): number | undefined {
  const found = /claude\D*?[-.](\d)(?:[-.](\d)(?!\d))?(?!\d)/.exec(model)
  return found ? Number(`${found[1]}.${found[2] ?? 0}`) : undefined
}

/** Providers of OpenAI's models. Compatible servers may reject features specific to OpenAI. */
const openAiProviders: ReadonlySet<string> = new Set(['openai', 'azure', 'openrouter'])

/** Returns true for GPT-5.6 and later, which support cache breakpoints. Source: OpenAI, Prompt caching. */
export function takesCacheBreakpoints(target: Target): boolean {
  const [, major, minor = '0'] = /^(?:openai\/)?gpt-(\d+)(?:\.(\d+))?/.exec(baseModelOf(target).toLowerCase()) ?? []
  const isNew = major !== undefined && Number(major) * 100 + Number(minor) >= 506
  return isNew && isOpenAiFormat(target.protocol) && openAiProviders.has(target.deployment.provider)
}

/** Returns true for upstreams that accept ids of files stored at OpenAI. */
export const takesFileIds = ({ protocol, deployment: { provider } }: Target): boolean =>
  isOpenAiFormat(protocol) && (provider === 'openai' || provider === 'azure')

/**
 * Returns true for Claude at any provider. Claude verifies signatures of thinking; servers of other models neither
 * create nor verify them. Two protocols serve only Claude, whose model name may be an ARN there.
 */
export const isClaude = (target: Pick<Target, 'protocol'> & Parameters<typeof baseModelOf>[0]): boolean =>
  protocols[target.protocol].isClaudeOnly === true || /claude/i.test(baseModelOf(target))

/** Anthropic's web search tool, which Anthropic runs. */
export const webSearchTool = { type: 'web_search_20250305', name: 'web_search' } as const

/** Returns true for Anthropic's own API. Other upstreams of its format neither run searches nor cache without marks. */
export const isAnthropicApi = ({ deployment, protocol }: Target): boolean =>
  protocol === 'anthropic-messages' && deployment.provider === 'anthropic'
