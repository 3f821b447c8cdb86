import { invalid } from '../../../platform/errors.ts'
import { isRecord, type Json, nonEmptyText } from '../../../platform/json.ts'
import type { CanonicalRequest, CodecContext } from '../../core/codec.ts'
import { toolReferenceText } from '../shared/tools.ts'
import { hasCallIds } from './carried-state.ts'
import type { Degradations, ModelTraits } from './traits.ts'
import { documentParts, mediaPart, type Placed, searchResultText, textParts } from './write-media.ts'
import { type ModelTurn, modelTurn } from './write-model-turn.ts'

interface UserTurn {
  readonly role: 'user'
  /** Function responses with the ids of their calls. */
  readonly responses: { readonly id: string; readonly part: Json }[]
  readonly parts: Json[]
}

interface Options {
  readonly context: CodecContext
  readonly traits: ModelTraits
  readonly degradations: Degradations
}

/** Returns the `contents` of a request: alternating turns of user and model, function responses first in a turn. */
export function contentsOf({ messages }: CanonicalRequest, options: Options): readonly Json[] {
  const conversation = new Conversation(options)
  for (const [index, message] of (Array.isArray(messages) ? messages : []).entries()) {
    if (!isRecord(message)) throw invalid(`messages.${index} must be an object`)
    conversation.add(message, `messages.${index}`)
  }
  const contents = conversation.contents()
  if (contents.length === 0) throw invalid('messages contains no content that this model accepts')
  return contents
}

class Conversation {
  readonly #options: Options
  readonly #turns: (UserTurn | ModelTurn)[] = []
  /** Function names of the calls so far, by call id. */
  readonly #names = new Map<string, string>()

  constructor(options: Options) {
    this.#options = options
  }

  add({ role, content }: Json, path: string): void {
    if (role === 'assistant') this.#addModel(blocksOf(content, path))
    else {
      // Gemini accepts system instructions only at the top level.
      if (role === 'system') this.#options.degradations.note(path, 'moved_to_user')
      for (const placed of blocksOf(content, path))
        this.#addUser({ ...placed, degradations: this.#options.degradations })
    }
  }

  contents(): readonly Json[] {
    return this.#turns.map((turn, index) => {
      if (turn.role === 'model') return { role: 'model', parts: turn.parts }
      const before = this.#turns[index - 1]
      return { role: 'user', parts: [...inOrderOf(turn, before), ...turn.parts] }
    })
  }

  #addModel(blocks: readonly Omit<Placed, 'degradations'>[]): void {
    const last = this.#turns.at(-1)
    const before = last?.role === 'model' ? last : undefined
    const known = before?.calls.length ?? 0
    const turn = modelTurn(blocks, this.#options, before)
    for (const { id, name } of turn.calls.slice(known)) this.#names.set(id, name)
    if (turn.parts.length > 0 && turn !== last) this.#turns.push(turn)
  }

  #addUser(placed: Placed): void {
    const { block, path, degradations } = placed
    degradations.noteCacheMark(block)
    switch (block['type']) {
      case 'text':
        this.#addParts(textParts(block['text']))
        break
      case 'image':
      case 'media':
        this.#addParts([mediaPart(placed)])
        break
      case 'document':
        this.#addParts(documentParts(placed))
        break
      case 'search_result':
        degradations.note(path, 'approximated')
        this.#addParts(textParts(searchResultText(block)))
        break
      case 'tool_result':
        this.#addResult(placed)
        break
      default:
        degradations.note(path, 'dropped')
    }
  }

  #addResult(placed: Placed): void {
    const id = nonEmptyText(placed.block['tool_use_id']) ?? ''
    const name = this.#names.get(id) ?? ''
    const { context, traits } = this.#options
    const sentId = hasCallIds(context) ? id : undefined
    const takesMedia = traits.takesMediaInResults
    const { response, moved } = convertToolResult({ placed, name, id: sentId, takesMedia })
    this.#userTurn().responses.push({ id, part: response })
    this.#addParts(moved)
  }

  #addParts(parts: readonly Json[]): void {
    for (const part of parts) this.#userTurn().parts.push(part)
  }

  #userTurn(): UserTurn {
    const last = this.#turns.at(-1)
    if (last?.role === 'user') return last
    const turn: UserTurn = { role: 'user', responses: [], parts: [] }
    this.#turns.push(turn)
    return turn
  }
}

/** Sorts responses in the order of their calls. Without ids Gemini matches them by order. */
function inOrderOf({ responses }: UserTurn, before: UserTurn | ModelTurn | undefined): readonly Json[] {
  const ids = before?.role === 'model' ? before.calls.map(({ id }) => id) : []
  const places = new Map(ids.map((id, at) => [id, at] as const).toReversed())
  const place = (id: string): number => places.get(id) ?? ids.length
  return responses.toSorted((a, b) => place(a.id) - place(b.id)).map(({ part }) => part)
}

function blocksOf(content: unknown, path: string): readonly Omit<Placed, 'degradations'>[] {
  if (typeof content === 'string') return [{ block: { type: 'text', text: content }, path: `${path}.content` }]
  if (!Array.isArray(content)) throw invalid(`${path}.content must be a string or an array`)
  return content.map((block, index) => {
    if (!isRecord(block)) throw invalid(`${path}.content.${index} must be an object`)
    return { block, path: `${path}.content.${index}` }
  })
}

interface ResultOptions {
  readonly placed: Placed
  /** Name of the called function. */
  readonly name: string
  /** Id to send; undefined if the upstream rejects ids. */
  readonly id: string | undefined
  readonly takesMedia: boolean
}

interface ConvertedResult {
  /** Part with `functionResponse`. */
  readonly response: Json
  /** Parts that must follow in the user's turn. */
  readonly moved: readonly Json[]
}

/** Media types allowed in a function response. Source: Google's list for multimodal function responses. */
const nestable: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/webp', 'application/pdf'])

const movedNote = '(the content follows in this message)'
const emptyNote = '(no content)'

/** Converts a tool_result. Media stay inside if the model accepts them there, else they follow it. */
function convertToolResult({ placed, name, id, takesMedia }: ResultOptions): ConvertedResult {
  const { block } = placed
  const { texts, media } = readContent(placed)
  const nested = media.filter(({ part }) => takesMedia && isNestable(part))
  const kept = new Set(nested)
  const moved = media.filter(each => !kept.has(each))
  for (const { path, kind } of moved) placed.degradations.note(path, `${kind}_moved`)
  const text = texts.join('\n')
  const shownText = text !== '' ? text : moved.length > 0 ? movedNote : emptyNote
  const response = {
    ...(id !== undefined && { id }),
    name,
    response: block['is_error'] === true ? { error: shownText } : { result: shownText },
    ...(nested.length > 0 && { parts: nested.map(({ part }) => part) }),
  }
  const heading = { text: `Content of the result of ${name}${id === undefined ? '' : ` (${id})`}:` }
  return {
    response: { functionResponse: response },
    moved: moved.length > 0 ? [heading, ...moved.map(({ part }) => part)] : [],
  }
}

interface Media {
  readonly kind: 'image' | 'document'
  readonly path: string
  readonly part: Json
}

interface Content {
  readonly texts: readonly string[]
  readonly media: readonly Media[]
}

function readContent({ block, path, degradations }: Placed): Content {
  const { content } = block
  if (typeof content === 'string') return { texts: content === '' ? [] : [content], media: [] }
  const texts: string[] = []
  const media: Media[] = []
  for (const [index, inner] of (Array.isArray(content) ? content : []).entries()) {
    if (!isRecord(inner)) continue
    degradations.noteCacheMark(inner)
    readInner({ block: inner, path: `${path}.content.${index}`, degradations }, texts, media)
  }
  return { texts, media }
}

function readInner(placed: Placed, texts: string[], media: Media[]): void {
  const { block, path, degradations } = placed
  switch (block['type']) {
    case 'text':
      texts.push(...[nonEmptyText(block['text'])].filter(text => text !== undefined))
      break
    case 'image':
    case 'media':
      media.push({ kind: 'image', path, part: mediaPart(placed) })
      break
    case 'document':
      for (const part of documentParts(placed)) {
        if (typeof part['text'] === 'string') texts.push(part['text'])
        else media.push({ kind: 'document', path, part })
      }
      break
    case 'search_result':
      texts.push(searchResultText(block))
      break
    case 'tool_reference':
      texts.push(toolReferenceText(block))
      break
    default:
      degradations.note(path, 'dropped')
  }
}

function isNestable({ inlineData }: Json): boolean {
  const type = isRecord(inlineData) ? nonEmptyText(inlineData['mimeType']) : undefined
  return type !== undefined && nestable.has(type)
}
