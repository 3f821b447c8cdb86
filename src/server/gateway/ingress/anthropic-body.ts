import type { Json } from '../../platform/json.ts'
import type { Block } from './content-parts.ts'
import type { Conversation } from './conversation.ts'
import type { IngressContext } from './ingress.ts'
import type { ToolSet } from './tool-set.ts'

interface Parts {
  readonly settings: Json
  readonly conversation: ReturnType<Conversation['finish']>
  /** Instructions behind those of the conversation. */
  readonly hints: readonly Block[]
  readonly tools: ToolSet
  readonly choice: Json
  /** True when the client names a cache for its prompt: Anthropic's format caches only what is marked. */
  readonly isCached: boolean
}

/** A request in Anthropic's format. Its keys always come in the same order, so that equal requests give equal bytes. */
export function anthropicBody({ model, stream }: Pick<IngressContext, 'model' | 'stream'>, parts: Parts): Json {
  const { settings, conversation, hints, tools, choice, isCached } = parts
  const system = [...conversation.system, ...hints]
  return {
    model,
    ...settings,
    stream,
    ...(system.length > 0 && { system }),
    messages: conversation.messages,
    ...(tools.wire.length > 0 && { tools: tools.wire }),
    ...choice,
    ...(isCached && { cache_control: { type: 'ephemeral' } }),
  }
}
