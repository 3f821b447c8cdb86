import { baseModelOf, type Target } from '../../core/call.ts'

/** What a model takes of the settings that OpenAI's clients send. */
export interface ModelTraits {
  /** False where temperature, top_p and top_k are refused, whatever their value. */
  readonly takesSampling: boolean
  /** False where a request may state one of the two, and both are refused. */
  readonly takesTemperatureWithTopP: boolean
  /** `adaptive` models choose how much they think; others need a number of tokens. */
  readonly thinking: 'adaptive' | 'budget'
  /** How "no reasoning" is said: some models think unless told not to, others refuse to be told. */
  readonly noThinking: 'disabled' | 'omitted'
  readonly efforts: readonly string[]
}

const allEfforts = ['low', 'medium', 'high', 'xhigh', 'max']

/** Of a model that is no Claude: the codec of its protocol knows the rest. */
const others: ModelTraits = {
  takesSampling: true,
  takesTemperatureWithTopP: true,
  thinking: 'adaptive',
  noThinking: 'disabled',
  efforts: allEfforts,
}

/**
 * The traits of a model by its name. Claude from 4.1 on refuses temperature beside top_p; before 4.6 it needs a thinking budget;
 * from 4.7 on sampling settings are refused; from 5 on thinking is on unless it is disabled. Source: Anthropic's migration guides.
 */
export function traitsOf(model: string): ModelTraits {
  const version = claudeVersion(model)
  if (version === undefined) return others
  const takesTemperatureWithTopP = version < 4.1
  if (version < 4.6)
    return { takesSampling: true, takesTemperatureWithTopP, thinking: 'budget', noThinking: 'omitted', efforts: [] }
  if (version < 4.7)
    return {
      takesSampling: true,
      takesTemperatureWithTopP,
      thinking: 'adaptive',
      noThinking: 'omitted',
      efforts: ['low', 'medium', 'high', 'max'],
    }
  const canDisable = version >= 5 && /opus|sonnet|haiku/.test(model)
  return {
    takesSampling: false,
    takesTemperatureWithTopP,
    thinking: 'adaptive',
    noThinking: canDisable ? 'disabled' : 'omitted',
    efforts: allEfforts,
  }
}

/** 4.6 of `claude-opus-4-6`, `us.anthropic.claude-opus-4-6-v1:0` and `anthropic/claude-4.6-opus`; 4 of a bare 4 with a date. */
function claudeVersion(model: string): number | undefined {
  const found = /claude\D*?[-.](\d)(?:[-.](\d)(?!\d))?(?!\d)/.exec(model)
  return found ? Number(`${found[1]}.${found[2] ?? 0}`) : undefined
}

/** True for OpenAI's two formats: what one has of tools, schemas and turns, the other has as well. */
export const isOpenAiFormat = (protocol: Target['protocol']): boolean =>
  protocol === 'openai-chat' || protocol === 'openai-responses'

/** Those at which OpenAI's models know what is OpenAI's own; compatible servers may refuse it. */
const sellers: ReadonlySet<string> = new Set(['openai', 'azure', 'openrouter'])

/** True for GPT-5.6 and later, which cache up to the breakpoints of a prompt. Source: OpenAI, Prompt caching. */
export function takesCacheBreakpoints(target: Target): boolean {
  const [, major, minor = '0'] = /^(?:openai\/)?gpt-(\d+)(?:\.(\d+))?/.exec(baseModelOf(target).toLowerCase()) ?? []
  const isNew = major !== undefined && Number(major) * 100 + Number(minor) >= 506
  return isNew && isOpenAiFormat(target.protocol) && sellers.has(target.deployment.provider)
}

/** True where files that OpenAI keeps can be named by their ids, in both of its formats. */
export const takesFileIds = ({ protocol, deployment: { provider } }: Target): boolean =>
  isOpenAiFormat(protocol) && (provider === 'openai' || provider === 'azure')

/** True for protocols whose requests are the canonical request itself. */
export const isAnthropicFormat = (protocol: Target['protocol']): boolean =>
  protocol === 'anthropic-messages' || protocol === 'bedrock-invoke' || protocol === 'vertex-anthropic'

/**
 * True for Claude behind any address: it checks the signatures of thinking, which compatible servers of other models
 * neither make nor check. The two protocols of Claude at Google and Amazon may name it by an ARN.
 */
export const isClaude = (target: Pick<Target, 'protocol'> & Parameters<typeof baseModelOf>[0]): boolean =>
  target.protocol === 'vertex-anthropic' || target.protocol === 'bedrock-invoke' || /claude/i.test(baseModelOf(target))

/** The search that Anthropic runs itself, in its format. */
export const webSearchTool = { type: 'web_search_20250305', name: 'web_search' } as const

/** True for Anthropic's own API: other upstreams of its format do not run searches, nor cache what is not marked. */
export const isAnthropics = ({ deployment, protocol }: Target): boolean =>
  protocol === 'anthropic-messages' && deployment.provider === 'anthropic'
