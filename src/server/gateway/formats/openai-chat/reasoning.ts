import { isRecord, type Json, listOf, recordOf, textOf } from '../../../platform/json.ts'
import { baseModelOf } from '../../core/call.ts'
import type { CodecContext } from '../../core/codec.ts'
import type { Conversion } from './write-content.ts'

/** What an upstream's model makes of `reasoning_effort` and of the settings that reasoning forbids. */
export interface ReasoningModel {
  /** The efforts that it takes, least first; none for a model that takes no such field. */
  readonly efforts: readonly string[]
  /** OpenAI's own: no temperature, top_p or stop while it reasons. */
  readonly hasFixedSampling: boolean
  /** OpenAI's o-series takes no `parallel_tool_calls`. */
  readonly takesParallelSetting: boolean
  /** At OpenAI the newer models take function tools over Chat only while they do not reason. */
  readonly reasonsWithTools: boolean
}

const everyEffort = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']
/** Every model that takes an effort takes these. */
const usualEfforts = ['low', 'medium', 'high']
const plain: ReasoningModel = {
  efforts: [],
  hasFixedSampling: false,
  takesParallelSetting: true,
  reasonsWithTools: true,
}

/** What its operator says of a model, else what its name and provider tell. */
export function reasoningModelOf(context: CodecContext): ReasoningModel {
  const { reasoning } = context.deployment.capabilities ?? {}
  if (reasoning === false) return plain
  const named = namedModelOf(context)
  return reasoning && named.efforts.length === 0 ? { ...named, efforts: usualEfforts } : named
}

/** A vendor in front of the name does not count. */
function namedModelOf(context: CodecContext): ReasoningModel {
  const { deployment } = context
  const model = baseModelOf(context)
  const name = model.slice(model.lastIndexOf('/') + 1).toLowerCase()
  const isRouter = deployment.provider === 'openrouter'
  if (/^o\d/.test(name)) return openAi(usualEfforts, { takesParallelSetting: false })
  if (name.startsWith('gpt-oss')) return { ...plain, efforts: usualEfforts }
  const version = versionOf(name)
  if (version < 500) return { ...plain, efforts: isRouter ? everyEffort : [] }
  if (version === 500) return openAi(['minimal', 'low', 'medium', 'high'])
  if (version < 502) return openAi(['none', 'low', 'medium', 'high'])
  return openAi(['none', 'low', 'medium', 'high', 'xhigh'], { reasonsWithTools: !isOpenAi(deployment) })
}

/** True where the newest form of OpenAI's Chat is served: by OpenAI, and by Azure for it. */
export const isOpenAi = ({ provider }: CodecContext['deployment']): boolean =>
  provider === 'openai' || provider === 'azure'

const openAi = (efforts: readonly string[], changes: Partial<ReasoningModel> = {}): ReasoningModel => ({
  ...plain,
  hasFixedSampling: true,
  efforts,
  ...changes,
})

/** 502 for `gpt-5.2-mini`; 0 for any model that is none of OpenAI's line of reasoning ones. */
function versionOf(name: string): number {
  const found = /^gpt-(\d)(?:\.(\d+))?(?![\d.a-z])/.exec(name)
  return found && !name.includes('-chat') ? Number(found[1]) * 100 + Number(found[2] ?? 0) : 0
}

interface Wish {
  readonly effort: string
  /** The field that asked for it. */
  readonly path: string
  /** It asked by a number of tokens. */
  readonly isBudget?: boolean
}

interface Options extends Pick<Conversion, 'lose'> {
  readonly hasTools: boolean
}

/** The `reasoning_effort` that comes nearest to what a request asks for; undefined leaves it to the model. */
export function effortOf(request: Json, model: ReasoningModel, { lose, hasTools }: Options): string | undefined {
  const wish = wishOf(request, lose)
  if (hasTools && !model.reasonsWithTools) {
    if (wish && wish.effort !== 'none') lose(wish.path, 'dropped')
    return 'none'
  }
  if (!wish) return undefined
  if (model.efforts.length > 0) return fitted(wish, model.efforts, lose)
  if (wish.effort !== 'none') lose(wish.path, 'dropped')
  return undefined
}

/** Above these numbers of thinking tokens, the effort; the word is our choice. */
const budgets = [
  [16_384, 'high'],
  [4_096, 'medium'],
  [0, 'low'],
] as const

function wishOf(request: Json, lose: Conversion['lose']): Wish | undefined {
  const thinking = recordOf(request['thinking'])
  const effort = textOf(recordOf(request['output_config'])['effort'])
  const isOff = thinking['type'] === 'disabled'
  if (effort !== '') {
    if (isOff) lose('output_config.effort', 'dropped')
    else return { effort, path: 'output_config.effort' }
  }
  if (isOff) return { effort: 'none', path: 'thinking' }
  if (thinking['type'] === undefined) return undefined
  const budget = thinking['budget_tokens']
  const found = typeof budget === 'number' ? budgets.find(([above]) => budget > above) : undefined
  return { effort: found?.[1] ?? 'medium', path: 'thinking', isBudget: found !== undefined }
}

/** The effort itself where the model takes it; else the nearest end of those it takes. */
function fitted(
  { effort, path, isBudget }: Wish,
  efforts: readonly string[],
  lose: Conversion['lose'],
): string | undefined {
  if (!everyEffort.includes(effort)) {
    lose(path, 'dropped')
    return undefined
  }
  if (isBudget) lose('thinking.budget_tokens', 'approximated')
  if (efforts.includes(effort)) return effort
  lose(path, 'approximated')
  return everyEffort.indexOf(effort) <= everyEffort.indexOf('minimal') ? efforts[0] : efforts.at(-1)
}

/** The reasoning in a delta or message, in whichever of its fields it came; the fields repeat each other. */
export function reasoningTextOf(delta: Json): string {
  const content = delta['reasoning_content']
  if (typeof content === 'string' && content !== '') return content
  const reasoning = delta['reasoning']
  if (typeof reasoning === 'string' && reasoning !== '') return reasoning
  const details = delta['reasoning_details']
  return Array.isArray(details) ? details.map(detailText).join('') : ''
}

/** The fields in which servers also take reasoning back. */
type ReasoningField = 'reasoning_content' | 'reasoning'

/** Where a delta or message has its reasoning; undefined for kinds that cannot be said again. */
export function reasoningFieldOf(delta: Json): ReasoningField | undefined {
  const fields = ['reasoning_content', 'reasoning'] as const
  return fields.find(field => typeof delta[field] === 'string' && delta[field] !== '')
}

/** The field that a sealed state names. */
export const reasoningFieldIn = (state: string | undefined): ReasoningField | undefined =>
  state === 'reasoning_content' || state === 'reasoning' ? state : undefined

/** OpenRouter's kinds with text; the encrypted kind has none. */
const detailText = (detail: unknown): string =>
  isRecord(detail) ? textOf(detail['text']) || textOf(detail['summary']) : ''

/** The text of one part of a content list: Mistral sends lists, with its reasoning among them. */
export function contentPart(part: unknown): { readonly kind: 'text' | 'thinking'; readonly text: string } {
  if (!isRecord(part)) return { kind: 'text', text: textOf(part) }
  if (part['type'] !== 'thinking') return { kind: 'text', text: textOf(part['text']) }
  const { thinking } = part
  const text = typeof thinking === 'string' ? thinking : listOf(thinking).map(detailText).join('')
  return { kind: 'thinking', text }
}
