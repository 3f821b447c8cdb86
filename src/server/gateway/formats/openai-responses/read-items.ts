import { isRecord, type Json, recordsOf, textOf } from '../../../platform/json.ts'
import type { Logprobs, StopReason, UpstreamEvent } from '../../core/answer-event.ts'
import type { CodecContext } from '../../core/codec.ts'
import { responsesUsageIn } from '../../tokens/stated-usage.ts'
import { citedSources } from '../shared/openai-answer.ts'
import { callIdOf } from './conversion.ts'
import { failureOf } from './errors.ts'
import { Blocks, newPart, type Part } from './read-blocks.ts'
import { signatureOf, textsOf } from './reasoning.ts'

/** Output item of the answer. */
interface Item {
  readonly id: string
  /** Texts of a message by content index. */
  readonly texts: Map<number, Part>
  readonly thinking: Part
  /** Summary or text that the last thinking belongs to. */
  section: string
  call: Part | undefined
  isDone: boolean
}

/** Converts an answer, from stream events or a whole response. Repeated data of an item is used once. */
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

  /** True after the end or an error. No events follow. */
  get isOver(): boolean {
    return this.#isOver
  }

  /** Returns the events since the last call. */
  take(): readonly UpstreamEvent[] {
    return this.#blocks.take()
  }

  /** Starts the message. */
  start({ id, model }: Json): void {
    this.#blocks.start({ ...(typeof id === 'string' && { id }), ...(typeof model === 'string' && { model }) })
  }

  /** Begins an item. Opens the block of a call, whose name is known. */
  add(index: number, item: Json): void {
    const id = textOf(item['id'])
    const before = this.#items.get(index)
    // Some servers use an index twice.
    if (before && (before.isDone || isOther(before.id, id))) {
      this.#close(before)
      this.#items.delete(index)
    }
    const state = this.#itemAt(index, id)
    if (item['type'] === 'function_call') this.#openCall(state, index, item)
  }

  /** Adds text of a message. */
  appendText(index: number, contentIndex: number, delta: string, logprobs?: Logprobs): void {
    this.#blocks.write(this.#textAt(index, contentIndex), delta, logprobs)
  }

  /** Completes the text of a message part. Some or all of it may have been sent. */
  completeText(index: number, contentIndex: number, whole: string): void {
    this.#blocks.fill(this.#textAt(index, contentIndex), whole)
  }

  /** Ends a part of a message. */
  finishPart(index: number, contentIndex: number, part: Json): void {
    const isRefusal = part['type'] === 'refusal'
    if (!isRefusal && part['type'] !== 'output_text') return
    if (isRefusal) this.decline()
    const state = this.#textAt(index, contentIndex)
    if (state.isDone) return
    this.#blocks.fill(state, textOf(isRefusal ? part['refusal'] : part['text']), recordsOf(part['logprobs']))
    const { list, hasMore } = citedSources(part['annotations'], state.sent)
    this.#blocks.write(state, list)
    if (hasMore) this.#degraded(`output.${index}.content.${contentIndex}.annotations`, 'dropped')
    this.#blocks.close(state)
  }

  /** Records that the model declined to answer. */
  decline(): void {
    if (!this.#hasRefused) this.#blocks.add({ type: 'declined' })
    this.#hasRefused = true
  }

  /** Adds text of a reasoning item. Sections are separated by an empty line. */
  appendThinking(index: number, section: string, delta: string): void {
    const item = this.#itemAt(index)
    if (delta === '') return
    const isNext = item.thinking.sent !== '' && section !== item.section
    item.section = section
    this.#blocks.write(item.thinking, isNext ? `\n\n${delta}` : delta)
  }

  /** Adds arguments of a call. Before its name is known they are ignored: the complete item contains all of them. */
  appendArguments(index: number, delta: string): void {
    const { call } = this.#itemAt(index)
    if (call) this.#blocks.write(call, delta)
  }

  /** Completes the arguments of a call. */
  completeArguments(index: number, whole: string): void {
    const { call } = this.#itemAt(index)
    if (call) this.#blocks.fill(call, whole)
  }

  /** Ends an item. */
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

  /** Ends the answer, complete or truncated. */
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
    this.#blocks.add({ type: 'stop', reason: this.#stopReason(response) })
    this.#blocks.add({ type: 'message_stop' })
    this.#isOver = true
  }

  /** Ends the answer with an error. `body` is the event or the response, whose usage is counted. */
  fail(body: Json): void {
    this.#usage(isRecord(body['response']) ? body['response'] : body)
    this.#blocks.add({ type: 'error', ...failureOf(body) })
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
    const existing = this.#items.get(index)
    if (existing) return existing
    const thinking = newPart({ type: 'thinking' })
    const item: Item = { id, texts: new Map(), thinking, section: '', call: undefined, isDone: false }
    this.#items.set(index, item)
    return item
  }

  #textAt(index: number, contentIndex: number): Part {
    const { texts } = this.#itemAt(index)
    const existing = texts.get(contentIndex)
    if (existing) return existing
    const part = newPart({ type: 'text' })
    texts.set(contentIndex, part)
    return part
  }

  #usage(response: Json): void {
    const usage = responsesUsageIn(response)
    if (Object.keys(usage).length > 0) this.#blocks.add({ type: 'usage', usage })
  }

  #stopReason(response: Json): StopReason {
    const details = response['incomplete_details']
    const reason = isRecord(details) ? details['reason'] : undefined
    if (this.#hasRefused || reason === 'content_filter') return 'refusal'
    return response['status'] === 'incomplete' || reason !== undefined ? 'max_tokens' : 'end_turn'
  }

  #degraded(path: string, action: string): void {
    this.#blocks.add({ type: 'degraded', path, action })
  }
}

const isOther = (before: string, id: string): boolean => before !== '' && id !== '' && before !== id
