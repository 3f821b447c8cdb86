import { isRecord, type Json, listOf, recordOf, textOf } from '../../../platform/json.ts'
import { baseModelOf } from '../../core/call.ts'
import type { CodecContext } from '../../core/codec.ts'
import type { Conversion } from './write-content.ts'

/** Reasoning features of an upstream's model. */
export interface ReasoningModel {
  /** Supported efforts in ascending order; empty for a model without `reasoning_effort`. */
  readonly efforts: readonly string[]
  /** True for OpenAI's models: they reject temperature, top_p and stop while reasoning. */
  readonly hasFixedSampling: boolean
  /** False for OpenAI's o-series, which rejects `parallel_tool_calls`. */
  readonly takesParallelSetting: boolean
  /** False for newer models at OpenAI, which reject function tools with reasoning in Chat Completions. */
  readonly reasonsWithTools: boolean
}

const allEfforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']
/** Efforts that all models with `reasoning_effort` support. */
const usualEfforts = ['low', 'medium', 'high']
const plain: ReasoningModel = {
  efforts: [],
  hasFixedSampling: false,
  takesParallelSetting: true,
  reasonsWithTools: true,
}

/** Returns the reasoning features, from the deployment's `capabilities`, else from the model name and the provider. */
export function reasoningModelOf(context: CodecContext): ReasoningModel {
  const { reasoning } = context.deployment.capabilities ?? {}
  if (reasoning === false) return plain
  const named = namedModelOf(context)
  return reasoning && named.efforts.length === 0 ? { ...named, efforts: usualEfforts } : named
}

/** Returns the features by model name. A vendor prefix is ignored. */
function namedModelOf(context: CodecContext): ReasoningModel {
  const { deployment } = context
  const model = baseModelOf(context)
  const name = model.slice(model.lastIndexOf('/') + 1).toLowerCase()
  const isRouter = deployment.provider === 'openrouter'
  if (/^o\d/.test(name)) return openAi(usualEfforts, { takesParallelSetting: false })
  if (name.startsWith('gpt-oss')) return { ...plain, efforts: usualEfforts }
  const version = versionOf(name)
  if (version < 500) return { ...plain, efforts: isRouter ? allEfforts : [] }
  if (version === 500) return openAi(['minimal', 'low', 'medium', 'high'])
  if (version < 502) return openAi(['none', 'low', 'medium', 'high'])
  return openAi(['none', 'low', 'medium', 'high', 'xhigh'], { reasonsWithTools: !isOpenAi(deployment) })
}

/** Returns true for OpenAI and Azure, which support the newest fields of Chat Completions. */
export const isOpenAi = ({ provider }: CodecContext['deployment']): boolean =>
  provider === 'openai' || provider === 'azure'

const openAi = (efforts: readonly string[], changes: Partial<ReasoningModel> = {}): ReasoningModel => ({
  ...plain,
  hasFixedSampling: true,
  efforts,
  ...changes,
})

/** Returns the version, such as 502 for `gpt-5.2-mini`; 0 for models other than OpenAI's GPT reasoning models. */
function versionOf(name: string): number {
  const found = /^gpt-(\d)(?:\.(\d+))?(?![\d.a-z])/.exec(name)
  return found && !name.includes('-chat') ? Number(found[1]) * 100 + Number(found[2] ?? 0) : 0
}

interface EffortRequest {
  readonly effort: string
  /** Path of the field that requests it. */
  readonly path: string
  /** True if the effort is derived from a number of tokens. */
  readonly isBudget?: boolean
}

interface Options extends Pick<Conversion, 'note'> {
  readonly hasTools: boolean
}

/** Returns the `reasoning_effort` nearest to that of a request; undefined for the model's default. */
export function effortOf(request: Json, model: ReasoningModel, { note, hasTools }: Options): string | undefined {
  const requested = effortRequestOf(request, note)
  if (hasTools && !model.reasonsWithTools) {
    if (requested && requested.effort !== 'none') note(requested.path, 'dropped')
    return 'none'
  }
  if (!requested) return undefined
  if (model.efforts.length > 0) return nearestEffort(requested, model.efforts, note)
  if (requested.effort !== 'none') note(requested.path, 'dropped')
  return undefined
}

/** Efforts by thinking budget: each applies above its number of tokens. Our choice. */
const budgets = [
  [16_384, 'high'],
  [4_096, 'medium'],
  [0, 'low'],
] as const

function effortRequestOf(request: Json, note: Conversion['note']): EffortRequest | undefined {
  const thinking = recordOf(request['thinking'])
  const effort = textOf(recordOf(request['output_config'])['effort'])
  const isOff = thinking['type'] === 'disabled'
  if (effort !== '') {
    if (isOff) note('output_config.effort', 'dropped')
    else return { effort, path: 'output_config.effort' }
  }
  if (isOff) return { effort: 'none', path: 'thinking' }
  if (thinking['type'] === undefined) return undefined
  const budget = thinking['budget_tokens']
  const found = typeof budget === 'number' ? budgets.find(([above]) => budget > above) : undefined
  return { effort: found?.[1] ?? 'medium', path: 'thinking', isBudget: found !== undefined }
}

/** Returns the effort if the model supports it; else its lowest or highest one. */
function nearestEffort(
  { effort, path, isBudget }: EffortRequest,
  efforts: readonly string[],
  note: Conversion['note'],
): string | undefined {
  if (!allEfforts.includes(effort)) {
    note(path, 'dropped')
    return undefined
  }
  if (isBudget) note('thinking.budget_tokens', 'approximated')
  if (efforts.includes(effort)) return effort
  note(path, 'approximated')
  return allEfforts.indexOf(effort) <= allEfforts.indexOf('minimal') ? efforts[0] : efforts.at(-1)
}

/** Returns the reasoning text in a delta or message. Servers use different fields; several in one are duplicates. */
export function reasoningTextOf(delta: Json): string {
  const content = delta['reasoning_content']
  if (typeof content === 'string' && content !== '') return content
  const reasoning = delta['reasoning']
  if (typeof reasoning === 'string' && reasoning !== '') return reasoning
  const details = delta['reasoning_details']
  return Array.isArray(details) ? details.map(detailText).join('') : ''
}

/** Fields in which servers also accept reasoning in requests. */
export type ReasoningField = 'reasoning_content' | 'reasoning'

/** Returns the field of the reasoning in a delta or message; undefined for fields that requests do not have. */
export function reasoningFieldOf(delta: Json): ReasoningField | undefined {
  const fields = ['reasoning_content', 'reasoning'] as const
  return fields.find(field => typeof delta[field] === 'string' && delta[field] !== '')
}

/** Returns the field stored in a signature's state. */
export const reasoningFieldIn = (state: string | undefined): ReasoningField | undefined =>
  state === 'reasoning_content' || state === 'reasoning' ? state : undefined

/** Returns the text of one of OpenRouter's details; an empty string for an encrypted one. */
const detailText = (detail: unknown): string =>
  isRecord(detail) ? textOf(detail['text']) || textOf(detail['summary']) : ''

/** Reads one part of a content list. Mistral sends lists that also contain reasoning. */
export function contentPart(part: unknown): { readonly kind: 'text' | 'thinking'; readonly text: string } {
  if (!isRecord(part)) return { kind: 'text', text: textOf(part) }
  if (part['type'] !== 'thinking') return { kind: 'text', text: textOf(part['text']) }
  const { thinking } = part
  const text = typeof thinking === 'string' ? thinking : listOf(thinking).map(detailText).join('')
  return { kind: 'thinking', text }
}
