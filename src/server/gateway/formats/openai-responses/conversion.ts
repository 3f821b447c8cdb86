import { createHash } from 'node:crypto'
import type { Json } from '../../../platform/json.ts'
import { baseModelOf } from '../../core/call.ts'
import type { CodecContext, ReasoningSigner } from '../../core/codec.ts'
import type { Degradation } from '../../core/degradations.ts'

/** Records a degradation of the request. */
export type Note = (path: Degradation['path'], action: Degradation['action']) => void

/** Context of the conversion of a conversation. */
export interface InputContext {
  readonly note: Note
  /** Returns the state in a signature; undefined for a signature that the model does not accept. */
  readonly openReasoning: ReasoningSigner['stateOf']
}

/** Input item with the path in the request that it comes from. */
export interface PlacedItem {
  readonly path: string
  readonly item: Json & { readonly type: string }
}

/** Ids that both sides accept: Anthropic's alphabet and the length limit of the Responses API. */
const validId = /^[a-zA-Z0-9_-]{1,64}$/

/** Returns an id of a tool call that both sides accept. Invalid ids are hashed: equal ids give equal results. */
export const callIdOf = (id: string): string =>
  validId.test(id) ? id : `call_${createHash('sha256').update(id).digest('base64url')}`

/** Efforts of the Responses API in ascending order. */
export const efforts = ['none', 'low', 'medium', 'high', 'xhigh', 'max'] as const

/** One of `efforts`. */
export type Effort = (typeof efforts)[number]

/** Features of a model. */
export interface ModelTraits {
  /** True for models that reason. They reject sampling settings and return reasoning items. */
  readonly reasons: boolean
  /** Supported efforts; empty for models that do not reason. */
  readonly efforts: readonly Effort[]
}

const upTo = (min: Effort, max: Effort): readonly Effort[] =>
  efforts.slice(efforts.indexOf(min), efforts.indexOf(max) + 1)

const plain: ModelTraits = { reasons: false, efforts: [] }
const reasoning = (min: Effort, max: Effort): ModelTraits => ({ reasons: true, efforts: upTo(min, max) })

/** Traits by model name; the first match applies. Without `minimal`, which excludes web search and parallel calls. */
const table: readonly (readonly [RegExp, ModelTraits])[] = [
  [/^gpt-5-chat/, plain],
  [/^gpt-\d+\.\d+-chat/, reasoning('medium', 'medium')],
  [/^gpt-5-pro/, reasoning('high', 'high')],
  [/^gpt-5\.\d+-pro/, reasoning('medium', 'xhigh')],
  [/^gpt-5\.1-codex-max/, reasoning('low', 'xhigh')],
  [/^gpt-5(\.1)?-codex/, reasoning('low', 'high')],
  [/^gpt-5(-|$)/, reasoning('low', 'high')],
  [/^gpt-5\.1(-|$)/, reasoning('none', 'high')],
  [/^gpt-5\.[2-5]-codex/, reasoning('low', 'xhigh')],
  [/^gpt-5\.[2-5](-|$)/, reasoning('none', 'xhigh')],
  [/^gpt-5\.\d+-codex/, reasoning('low', 'max')],
  [/^gpt-5\.\d/, reasoning('none', 'max')],
  [/^gpt-(6-sol|6-luna|6\.1-terra)/, reasoning('none', 'max')],
  [/^gpt-([6-9]|\d\d)/, reasoning('low', 'max')],
  [/^(o\d|codex|gpt-oss)/, reasoning('low', 'high')],
]

/** Returns the traits from the deployment's `capabilities`, else from the model name. A vendor prefix is ignored. */
export function traitsOf(context: CodecContext): ModelTraits {
  const { reasoning: reasons } = context.deployment.capabilities ?? {}
  if (reasons === false) return plain
  const model = baseModelOf(context)
  const name = model.slice(model.lastIndexOf('/') + 1).toLowerCase()
  const named = table.find(([pattern]) => pattern.test(name))?.[1] ?? plain
  return reasons && !named.reasons ? reasoning('low', 'high') : named
}

/** Returns the model's highest effort that is not above `wanted`, else its lowest. */
export function nearestEffort({ efforts: supported }: ModelTraits, wanted: Effort): Effort {
  const limit = efforts.indexOf(wanted)
  return supported.findLast(effort => efforts.indexOf(effort) <= limit) ?? supported[0] ?? wanted
}
