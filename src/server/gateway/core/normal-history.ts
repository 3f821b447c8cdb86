import { isAnthropicFormat, isOpenAiFormat } from '../../config/protocols.ts'
import { isRecord, type Json, listOf, recordOf, recordsOf, textOf, withEntries } from '../../platform/json.ts'
import { createUniqueNames } from '../../platform/unique-names.ts'
import { detailOf } from '../formats/shared/extras.ts'
import { isClaude, traitsOf } from '../formats/shared/model-traits.ts'
import { toolReferenceText } from '../formats/shared/tools.ts'
import { baseModelOf, type Target } from './call.ts'
import type { CanonicalRequest } from './codec.ts'
import { signaturePrefix } from './reasoning-signers.ts'
import type { Survey } from './survey.ts'

/** Context of a step of the normalisation, and its report of changes. */
export interface StepOptions {
  readonly target: Target
  /** Survey of the original request. */
  readonly survey: Survey
  readonly note: (path: string, action: string) => void
}

/** Returns the request with the media type of each image corrected to that of its bytes. */
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

/** Returns the media type by the first bytes; undefined for types other than the four that models read. */
function imageTypeOf(data: string): string | undefined {
  const head = Buffer.from(data.slice(0, 16), 'base64').toString('latin1')
  return signatures.find(([signature]) => signature.test(head))?.[1]
}

/** Returns the request with `change` applied to every block of its messages. */
export function withBlocks(request: CanonicalRequest, change: (block: Json, path: string) => Json): CanonicalRequest {
  return withEntries(request, 'messages', (message, at) =>
    isRecord(message)
      ? withEntries(message, 'content', (block, index) =>
          isRecord(block) ? change(block, `messages.${at}.content.${index}`) : block,
        )
      : message,
  )
}

/** Drops thinking of other providers: upstreams of Anthropic's format cannot read its signatures. */
export function withoutForeignThinking(
  request: CanonicalRequest,
  { target, survey, note }: StepOptions,
): CanonicalRequest {
  if (!survey.hasThinking || !isAnthropicFormat(target.protocol)) return request
  const toClaude = isClaude(target)
  const isForeign = (block: unknown): boolean => {
    const { type, signature, data } = recordOf(block)
    if (type === 'redacted_thinking') return textOf(data).startsWith(signaturePrefix)
    if (type !== 'thinking') return false
    return textOf(signature).startsWith(signaturePrefix) || (toClaude && textOf(signature) === '')
  }
  return withEntries(request, 'messages', (message, at) => {
    const blocks = listOf(recordOf(message)['content'])
    if (!blocks.some(isForeign)) return message
    for (const [index, block] of blocks.entries())
      if (isForeign(block)) note(`messages.${at}.content.${index}`, 'dropped')
    const own = blocks.filter(block => !isForeign(block))
    return { ...recordOf(message), content: own.length > 0 ? own : [{ type: 'text', text: '...' }] }
  })
}

/**
 * Disables thinking after tool calls whose turn does not begin with thinking, which Claude before 4.6 rejects: clients
 * of other formats may not send the thinking back.
 */
export function withPossibleThinking(request: CanonicalRequest, { target, note }: StepOptions): CanonicalRequest {
  const { thinking, messages } = request
  if (recordOf(thinking)['type'] !== 'enabled' || !isClaude(target)) return request
  if (traitsOf(baseModelOf(target)).thinking !== 'budget') return request
  const last = listOf(messages).findLast(message => recordOf(message)['role'] === 'assistant')
  const blocks = recordsOf(recordOf(last)['content'])
  const startsWithThinking = /^(redacted_)?thinking$/.test(textOf(blocks[0]?.['type']))
  if (startsWithThinking || !blocks.some(({ type }) => type === 'tool_use')) return request
  note('thinking', 'dropped')
  const { thinking: _, ...rest } = request
  return rest
}

/** Makes ids of tool calls unique, matches each result to its call, and turns results without a call into text. */
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

/** Unique ids of tool calls. Needed since some servers number the calls of each answer from 0. */
class CallIds {
  readonly #unique = createUniqueNames((id, number) => `${id}_${number}`)
  /** By the client's id: the calls of the last turn with that id, and how many of them were answered. */
  readonly #latest = new Map<string, { readonly turn: number; readonly ids: string[]; answered: number }>()
  #turn = 0

  endTurn(): void {
    this.#turn++
  }

  /** Adds a call. Returns an id that no earlier call has. */
  added(id: string): string {
    const own = this.#unique(id)
    const latest = this.#latest.get(id)
    if (latest?.turn === this.#turn) latest.ids.push(own)
    else this.#latest.set(id, { turn: this.#turn, ids: [own], answered: 0 })
    return own
  }

  /** Returns the id of the call that a result belongs to; undefined without a call. */
  answered(id: string): string | undefined {
    const latest = this.#latest.get(id)
    if (!latest) return undefined
    // The last call of an id can have several results.
    return latest.ids[Math.min(latest.answered++, latest.ids.length - 1)]
  }
}

const textBlock = (text: string): Json => ({ type: 'text', text })

/** Returns the text blocks for a result whose call is not in the conversation. */
function orphanBlocks({ tool_use_id: id, content, is_error: isError }: Json): readonly Json[] {
  const heading = `${isError === true ? 'Error' : 'Result'} of tool call ${textOf(id)}:`
  if (typeof content === 'string') return [textBlock(`${heading}\n${content}`)]
  const blocks = recordsOf(content).map(block =>
    block['type'] === 'tool_reference' ? textBlock(toolReferenceText(block)) : block,
  )
  return [textBlock(heading), ...blocks]
}

/** Replaces the orphans of a message by their blocks, after all results, which must come first. */
function withOrphans(message: Json): Json {
  const entries = listOf(message['content'])
  if (!entries.some(entry => isRecord(entry) && 'orphan' in entry)) return message
  const isResult = (entry: unknown): boolean => recordOf(entry)['type'] === 'tool_result'
  const others = entries.filter(entry => !isResult(entry)).flatMap(entry => recordOf(entry)['orphan'] ?? entry)
  return { ...message, content: [...entries.filter(isResult), ...others] }
}

/** Declares the tools of the history: Claude's upstreams reject tool calls in a request without tools. */
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

/** Trims white space at the end of a prefilled answer, which Claude rejects. */
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

/** Adds a user turn after a prefill for Claude from 4.6, which continues no answer. A call at the end is left alone. */
export function withUserTurnAtEnd(request: CanonicalRequest, { target, note }: StepOptions): CanonicalRequest {
  const messages = listOf(request['messages'])
  const { role, content } = recordOf(messages.at(-1))
  if (role !== 'assistant' || !isClaude(target) || traitsOf(baseModelOf(target)).takesPrefill) return request
  if (recordsOf(content).some(({ type }) => type === 'tool_use')) return request
  note(`messages.${messages.length - 1}`, 'user_turn_added')
  return { ...request, messages: [...messages, { role: 'user', content: [textBlock('Continue.')] }] }
}

/** Returns the blocks without white space at their end; the same array when there is none. */
function withTrimmedEnd(blocks: readonly unknown[]): readonly unknown[] {
  const isBlank = (block: unknown): boolean =>
    recordOf(block)['type'] === 'text' && textOf(recordOf(block)['text']).trimEnd() === ''
  const end = blocks.findLastIndex(block => !isBlank(block)) + 1
  const last = recordOf(blocks[end - 1])
  const text = textOf(last['text'])
  if (last['type'] === 'text' && text.trimEnd() !== text)
    return [...blocks.slice(0, end - 1), { ...last, text: text.trimEnd() }]
  return end === blocks.length ? blocks : blocks.slice(0, end)
}
