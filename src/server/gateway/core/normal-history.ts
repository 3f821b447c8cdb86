import { isRecord, type Json, listOf, recordOf, recordsOf, textOf, withEntries } from '../../platform/json.ts'
import { detailOf } from '../formats/shared/extras.ts'
import { isAnthropicFormat, isClaude, isOpenAiFormat, traitsOf } from '../formats/shared/model-traits.ts'
import { baseModelOf, type Target } from './call.ts'
import type { CanonicalRequest } from './codec.ts'
import { sealPrefix } from './reasoning-seal.ts'
import type { Survey } from './survey.ts'

/** What a step of the normalisation may know, and where it reports what it changed. */
export interface StepOptions {
  readonly target: Target
  /** Of the request as it was given. */
  readonly survey: Survey
  readonly note: (path: string, action: string) => void
}

/** Images with the media type that their bytes have. */
export const withImageTypes = (request: CanonicalRequest, options: StepOptions): CanonicalRequest =>
  options.survey.hasImages ? withBlocks(request, (block, path) => withImageType(block, path, options)) : request

function withImageType(block: Json, path: string, options: StepOptions): Json {
  const { target, note } = options
  if (block['type'] === 'tool_result')
    return withEntries(block, 'content', (inner, index) =>
      isRecord(inner) ? withImageType(inner, `${path}.content.${index}`, options) : inner,
    )
  if (detailOf(block) !== undefined && !isOpenAiFormat(target.protocol)) note(`${path}.detail`, 'dropped')
  const source = recordOf(block['source'])
  if (block['type'] !== 'image' || source['type'] !== 'base64') return block
  const declared = source['media_type']
  const type = imageTypeOf(textOf(source['data'])) ?? (declared === 'image/jpg' ? 'image/jpeg' : declared)
  if (type === declared) return block
  note(`${path}.source`, 'media_type_corrected')
  return { ...block, source: { ...source, media_type: type } }
}

const signatures: readonly (readonly [RegExp, string])[] = [
  [/^\x89PNG/, 'image/png'],
  [/^\xff\xd8\xff/, 'image/jpeg'],
  [/^GIF8[79]a/, 'image/gif'],
  [/^RIFF.{4}WEBP/s, 'image/webp'],
]

/** The type that the first bytes show; undefined for any other than the four that models read. */
function imageTypeOf(data: string): string | undefined {
  const head = Buffer.from(data.slice(0, 16), 'base64').toString('latin1')
  return signatures.find(([signature]) => signature.test(head))?.[1]
}

/** The request with every block of its messages as `change` returns it. */
function withBlocks(request: CanonicalRequest, change: (block: Json, path: string) => Json): CanonicalRequest {
  return withEntries(request, 'messages', (message, at) =>
    isRecord(message)
      ? withEntries(message, 'content', (block, index) =>
          isRecord(block) ? change(block, `messages.${at}.content.${index}`) : block,
        )
      : message,
  )
}

/** Claude checks the signatures of thinking, and no upstream of Anthropic's format reads what this gateway sealed. */
export function withoutForeignThinking(
  request: CanonicalRequest,
  { target, survey, note }: StepOptions,
): CanonicalRequest {
  if (!survey.hasThinking || !isAnthropicFormat(target.protocol)) return request
  const toClaude = isClaude(target)
  const isForeign = (block: unknown): boolean => {
    const { type, signature, data } = recordOf(block)
    if (type === 'redacted_thinking') return textOf(data).startsWith(sealPrefix)
    if (type !== 'thinking') return false
    return textOf(signature).startsWith(sealPrefix) || (toClaude && textOf(signature) === '')
  }
  return withEntries(request, 'messages', (message, at) => {
    const blocks = listOf(recordOf(message)['content'])
    if (!blocks.some(isForeign)) return message
    for (const [index, block] of blocks.entries())
      if (isForeign(block)) note(`messages.${at}.content.${index}`, 'dropped')
    const kept = blocks.filter(block => !isForeign(block))
    return { ...recordOf(message), content: kept.length > 0 ? kept : [{ type: 'text', text: '...' }] }
  })
}

/**
 * Claude before 4.6 refuses to think on behind calls whose turn does not begin with its thinking, and clients of other
 * formats may not have kept that.
 */
export function withPossibleThinking(request: CanonicalRequest, { target, note }: StepOptions): CanonicalRequest {
  const { thinking, messages } = request
  if (recordOf(thinking)['type'] !== 'enabled' || !isClaude(target)) return request
  if (traitsOf(baseModelOf(target)).thinking !== 'budget') return request
  const last = listOf(messages).findLast(message => recordOf(message)['role'] === 'assistant')
  const blocks = recordsOf(recordOf(last)['content'])
  const isThought = /^(redacted_)?thinking$/.test(textOf(blocks[0]?.['type']))
  if (isThought || !blocks.some(({ type }) => type === 'tool_use')) return request
  note('thinking', 'dropped')
  const { thinking: _, ...rest } = request
  return rest
}

/** Calls with different ids, each result under the id of its call, and as text the results that no call precedes. */
export function withMatchedCalls(request: CanonicalRequest, { survey, note }: StepOptions): CanonicalRequest {
  if (survey.isMatched) return request
  const calls = new CallIds()
  const matched = (block: unknown, path: string): unknown => {
    if (!isRecord(block)) return block
    const { type, id, tool_use_id: callId } = block
    if (type === 'tool_use' && typeof id === 'string') {
      const own = calls.added(id)
      if (own !== id) note(`${path}.id`, 'made_unique')
      return withField(block, 'id', own)
    }
    if (type !== 'tool_result' || typeof callId !== 'string') return block
    const own = calls.answered(callId)
    if (own !== undefined) return withField(block, 'tool_use_id', own)
    note(path, 'sent_as_text')
    return { orphan: orphanBlocks(block) }
  }
  return withEntries(request, 'messages', (message, at) => {
    if (!isRecord(message)) return message
    if (message['role'] === 'user') calls.endTurn()
    const path = `messages.${at}.content`
    return withOrphans(withEntries(message, 'content', (block, index) => matched(block, `${path}.${index}`)))
  })
}

const withField = (block: Json, field: string, value: string): Json =>
  block[field] === value ? block : { ...block, [field]: value }

/** The ids of calls as they are sent. Some servers number the calls of each answer from 0 again. */
class CallIds {
  readonly #taken = new Set<string>()
  /** By the client's id: the calls of the last turn that has such, the next to be answered first. */
  readonly #latest = new Map<string, { readonly turn: number; readonly ids: string[] }>()
  #turn = 0

  endTurn(): void {
    this.#turn++
  }

  /** The id of a call, which no call before it has. */
  added(id: string): string {
    let own = id
    for (let number = 2; this.#taken.has(own); number++) own = `${id}_${number}`
    this.#taken.add(own)
    const latest = this.#latest.get(id)
    if (latest?.turn === this.#turn) latest.ids.push(own)
    else this.#latest.set(id, { turn: this.#turn, ids: [own] })
    return own
  }

  /** The id of the call that a result belongs to; undefined without any. */
  answered(id: string): string | undefined {
    const ids = this.#latest.get(id)?.ids ?? []
    return ids.length > 1 ? ids.shift() : ids[0]
  }
}

const textBlock = (text: string): Json => ({ type: 'text', text })

/** What stands for a result whose call is not in the conversation. */
function orphanBlocks({ tool_use_id: id, content, is_error: isError }: Json): readonly Json[] {
  const heading = `${isError === true ? 'Error' : 'Result'} of tool call ${textOf(id)}:`
  if (typeof content === 'string') return [textBlock(`${heading}\n${content}`)]
  const blocks = recordsOf(content).map(block =>
    block['type'] === 'tool_reference' ? textBlock(`Tool: ${textOf(block['tool_name'])}`) : block,
  )
  return [textBlock(heading), ...blocks]
}

/** A message with the blocks of its orphans in their place, but behind all results, which must come first. */
function withOrphans(message: Json): Json {
  const entries = listOf(message['content'])
  if (!entries.some(entry => isRecord(entry) && 'orphan' in entry)) return message
  const isResult = (entry: unknown): boolean => recordOf(entry)['type'] === 'tool_result'
  const others = entries.filter(entry => !isResult(entry)).flatMap(entry => recordOf(entry)['orphan'] ?? entry)
  return { ...message, content: [...entries.filter(isResult), ...others] }
}

/** Claude's upstreams refuse calls in the history of a request without tools: they are declared, not to be called. */
export function withToolsOfHistory(request: CanonicalRequest, { target, note }: StepOptions): CanonicalRequest {
  const wantsTools = isAnthropicFormat(target.protocol) || target.protocol === 'bedrock-converse' || isClaude(target)
  if (!wantsTools || listOf(request['tools']).length > 0) return request
  const blocks = recordsOf(request['messages']).flatMap(({ content }) => recordsOf(content))
  const names = new Set(blocks.filter(({ type }) => type === 'tool_use').map(({ name }) => textOf(name)))
  if (names.size === 0) return request
  note('tools', 'declared_from_history')
  const tools = [...names].map(name => ({
    name,
    description: 'A tool of earlier turns, which is not available now.',
    input_schema: { type: 'object', additionalProperties: true },
  }))
  return { ...request, tools, tool_choice: { type: 'none' } }
}

/** The beginning of an answer that the client gave, without blanks at its end: Claude refuses those. */
export function withTrimmedPrefill(request: CanonicalRequest, { target, note }: StepOptions): CanonicalRequest {
  const messages = listOf(request['messages'])
  const last = recordOf(messages.at(-1))
  if (last['role'] !== 'assistant' || !(isAnthropicFormat(target.protocol) || isClaude(target))) return request
  const { content } = last
  const blocks = typeof content === 'string' ? [textBlock(content)] : listOf(content)
  const trimmed = withTrimmedEnd(blocks)
  if (trimmed === blocks) return request
  note(`messages.${messages.length - 1}.content`, 'trimmed')
  const end = trimmed.length > 0 ? [{ ...last, content: trimmed }] : []
  return { ...request, messages: [...messages.slice(0, -1), ...end] }
}

/** The blocks themselves when they do not end in blanks. */
function withTrimmedEnd(blocks: readonly unknown[]): readonly unknown[] {
  const said = recordOf(blocks.at(-1))
  const text = textOf(said['text'])
  const trimmed = text.trimEnd()
  const before = blocks.slice(0, -1)
  if (said['type'] !== 'text' || (trimmed === text && text !== '')) return blocks
  return trimmed === '' ? withTrimmedEnd(before) : [...before, { ...said, text: trimmed }]
}
