import type { Protocols } from '../../config/deployments.ts'
import type { Protocol } from '../../config/protocols.ts'
import { baseModelOf, type DeployedModel } from '../core/call.ts'

/** OpenAI's models that only one of its protocols serves. Source: the pages of the models at OpenAI. */
const single: readonly (readonly [names: RegExp, Protocol])[] = [
  [/^(gpt-[\d.]+-(codex|pro)\b|codex-|o\d(-mini)?-(pro|deep-research)\b|computer-use)/, 'openai-responses'],
  [/^(gpt-audio|gpt-.*-(audio-preview|search-preview|search-api))/, 'openai-chat'],
]

/**
 * Returns the protocols that a model can be called in, the default first: those of its deployment, without the one of
 * OpenAI's two protocols that does not serve the model.
 */
export function protocolsOf(target: DeployedModel): Protocols {
  const { protocols } = target.deployment
  const model = baseModelOf(target)
  if (!protocols.includes('openai-chat') || !protocols.includes('openai-responses')) return protocols
  const name = model.slice(model.lastIndexOf('/') + 1)
  const only = single.find(([names]) => names.test(name))?.[1]
  if (only === undefined) return protocols
  const other: Protocol = only === 'openai-chat' ? 'openai-responses' : 'openai-chat'
  const [first = only, ...others] = protocols.filter(protocol => protocol !== other)
  return [first, ...others]
}
