import { isRecord, type Json, recordsOf, textOf } from '../../../platform/json.ts'
import type { Logprobs, StopReason, UpstreamEvent } from '../../core/answer-event.ts'
import type { CodecContext } from '../../core/codec.ts'
import { responsesUsageOf } from '../../tokens/stated-usage.ts'
import { citedSources } from '../shared/openai-answer.ts'
import { callIdOf } from './conversion.ts'
import { failureOf } from './errors.ts'
import { Blocks, newPart, type Part } from './read-blocks.ts'
import { signatureOf, textsOf } from './reasoning.ts'

/** One item of the answer's output. */
interface Item {
  readonly id: string
  /** Texts of a message, by their index in its content. */
  readonly texts: Map<number, Part>
  readonly thinking: Part
  /** The summary or text that the last thinking came from. */
  section: string
  call: Part | undefined
  isDone: boolean
}

/** Puts an answer together, whether it comes in events or whole. An item counts once, however often it is told. */
export class AnswerReader {
  readonly #context: Pick<CodecContext, 'reasoning' | 'requestId'>
  readonly #blocks = new Blocks()
  readonly #items = new Map<number, Item>()
  readonly #finishedIds = new Set<string>()
  #hasRefused = false
  #isOver = false

  constructor(context: Pick<CodecContext, 'reasoning' | 'requestId'>) {
    this.#context = context
  }

  /** True after the end or an error: nothing more is said. */
  get isOver(): boolean {
    return this.#isOver
  }

  /** The events since the last time. */
  take(): readonly UpstreamEvent[] {
    return this.#blocks.take()
  }

  /** The head of the answer is known. */
  start({ id, model }: Json): void {
    this.#blocks.start({ ...(typeof id === 'string' && { id }), ...(typeof model === 'string' && { model }) })
  }

  /** An item begins; a call's block opens, as its name is known. */
  add(index: number, item: Json): void {
    const id = textOf(item['id'])
    const before = this.#items.get(index)
    // A server that counts wrongly may use a place twice.
    if (before && (before.isDone || isOther(before.id, id))) {
      this.#close(before)
      this.#items.delete(index)
    }
    const state = this.#itemAt(index, id)
    if (item['type'] === 'function_call') this.#openCall(state, index, item)
  }

  /** More text of a message. */
  text(index: number, contentIndex: number, delta: string, logprobs?: Logprobs): void {
    this.#blocks.write(this.#textAt(index, contentIndex), delta, logprobs)
  }

  /** The whole text of a message's part, all or some of which may have been sent. */
  wholeText(index: number, contentIndex: number, whole: string): void {
    this.#blocks.fill(this.#textAt(index, contentIndex), whole)
  }

  /** A part of a message is complete. */
  finishPart(index: number, contentIndex: number, part: Json): void {
    const isRefusal = part['type'] === 'refusal'
    if (!isRefusal && part['type'] !== 'output_text') return
    if (isRefusal) this.refuse()
    const state = this.#textAt(index, contentIndex)
    if (state.isDone) return
    this.#blocks.fill(state, textOf(isRefusal ? part['refusal'] : part['text']), recordsOf(part['logprobs']))
    const { list, hasMore } = citedSources(part['annotations'], state.sent)
    this.#blocks.write(state, list)
    if (hasMore) this.#degraded(`output.${index}.content.${contentIndex}.annotations`, 'dropped')
    this.#blocks.close(state)
  }

  /** The model declines to answer. */
  refuse(): void {
    if (!this.#hasRefused) this.#blocks.say({ type: 'declined' })
    this.#hasRefused = true
  }

  /** More of a reasoning item; texts of different sections are set apart by an empty line. */
  think(index: number, section: string, delta: string): void {
    const item = this.#itemAt(index)
    if (delta === '') return
    const isNext = item.thinking.sent !== '' && section !== item.section
    item.section = section
    this.#blocks.write(item.thinking, isNext ? `\n\n${delta}` : delta)
  }

  /** More of a call's arguments. Without a name yet nothing can be sent: the complete item brings them all. */
  argue(index: number, delta: string): void {
    const { call } = this.#itemAt(index)
    if (call) this.#blocks.write(call, delta)
  }

  /** All of a call's arguments. */
  wholeArguments(index: number, whole: string): void {
    const { call } = this.#itemAt(index)
    if (call) this.#blocks.fill(call, whole)
  }

  /** An item is complete. */
  finishItem(index: number, item: Json): void {
    const state = this.#itemAt(index, textOf(item['id']))
    if (state.isDone) return
    state.isDone = true
    if (item['id']) this.#finishedIds.add(textOf(item['id']))
    switch (item['type']) {
      case 'message':
        this.#finishMessage(state, index, item)
        break
      case 'reasoning':
        this.#finishThinking(state, item)
        break
      case 'function_call':
        this.#finishCall(state, index, item)
        break
      case 'web_search_call':
        this.#degraded(`output.${index}`, 'shown_as_text')
        break
      default:
        this.#degraded(`output.${index}`, 'dropped')
    }
  }

  /** The upstream says that the answer is complete, or as complete as it gets. */
  finish(response: Json): void {
    if (response['status'] === 'failed') {
      this.fail(response)
      return
    }
    this.start(response)
    for (const [index, item] of recordsOf(response['output']).entries()) {
      if (this.#items.has(index) || !this.#finishedIds.has(textOf(item['id']))) this.finishItem(index, item)
    }
    this.#usage(response)
    this.#blocks.say({ type: 'stop', reason: this.#stopReason(response) })
    this.#blocks.say({ type: 'message_stop' })
    this.#isOver = true
  }

  /** The upstream says that it failed; `body` is the event, or a response whose usage still counts. */
  fail(body: Json): void {
    this.#usage(isRecord(body['response']) ? body['response'] : body)
    this.#blocks.say({ type: 'error', ...failureOf(body) })
    this.#isOver = true
  }

  #close({ texts, thinking, call }: Item): void {
    for (const part of [...texts.values(), thinking, ...(call ? [call] : [])])
      if (!part.isDone) this.#blocks.close(part)
  }

  #finishMessage(state: Item, index: number, item: Json): void {
    for (const [at, part] of recordsOf(item['content']).entries()) this.finishPart(index, at, part)
    this.#close(state)
  }

  #finishThinking({ thinking }: Item, item: Json): void {
    const summary = textsOf(item['summary'])
    const texts = summary.length > 0 ? summary : textsOf(item['content'])
    this.#blocks.fill(thinking, texts.join('\n\n'))
    const signature = signatureOf(item, this.#context.reasoning)
    if (signature !== undefined) this.#blocks.sign(thinking, signature)
    this.#blocks.close(thinking)
  }

  #finishCall(state: Item, index: number, item: Json): void {
    this.#openCall(state, index, item)
    if (!state.call) {
      this.#degraded(`output.${index}`, 'dropped')
      return
    }
    const { arguments: input } = item
    this.#blocks.fill(state.call, isRecord(input) ? JSON.stringify(input) : textOf(input))
    this.#blocks.close(state.call)
  }

  #openCall(state: Item, index: number, item: Json): void {
    const name = textOf(item['name'])
    if (state.call || name === '') return
    const given = textOf(item['call_id']) || state.id || `${this.#context.requestId}.${index}`
    state.call = newPart({ type: 'tool_use', id: callIdOf(given), name })
    this.#blocks.open(state.call)
  }

  #itemAt(index: number, id = ''): Item {
    const known = this.#items.get(index)
    if (known) return known
    const thinking = newPart({ type: 'thinking' })
    const item: Item = { id, texts: new Map(), thinking, section: '', call: undefined, isDone: false }
    this.#items.set(index, item)
    return item
  }

  #textAt(index: number, contentIndex: number): Part {
    const { texts } = this.#itemAt(index)
    const known = texts.get(contentIndex)
    if (known) return known
    const part = newPart({ type: 'text' })
    texts.set(contentIndex, part)
    return part
  }

  #usage(response: Json): void {
    const usage = responsesUsageOf(response['usage'], response['output'])
    if (Object.keys(usage).length > 0) this.#blocks.say({ type: 'usage', usage })
  }

  #stopReason(response: Json): StopReason {
    const details = response['incomplete_details']
    const reason = isRecord(details) ? details['reason'] : undefined
    if (this.#hasRefused || reason === 'content_filter') return 'refusal'
    return response['status'] === 'incomplete' || reason !== undefined ? 'max_tokens' : 'end_turn'
  }

  #degraded(path: string, action: string): void {
    this.#blocks.say({ type: 'degraded', path, action })
  }
}

const isOther = (before: string, id: string): boolean => before !== '' && id !== '' && before !== id
