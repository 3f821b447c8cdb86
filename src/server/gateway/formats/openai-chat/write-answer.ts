import { addAll } from '../../../platform/add-all.ts'
import { type Json, recordsOf } from '../../../platform/json.ts'
import type { AnswerEvent, Logprobs, StopReason } from '../../core/answer-event.ts'
import type { AnswerWriter } from '../../core/client-format.ts'
import { noTokens } from '../../tokens/token-counts.ts'
import { chatUsage, openAiProblem, type UrlCitation, urlCitations } from '../shared/openai-answer.ts'
import type { ToolOrigin } from '../shared/tools.ts'
import { type CustomInput, createCustomInput } from '../shared/tools.ts'
import { encryptedDetail, signedDetail } from './reasoning-details.ts'

interface Options {
  readonly id: string
  readonly createdAt: number
  /** Model name used if the upstream returns none. */
  readonly model: string
  readonly stream: boolean
  /** True if the stream ends with a chunk with usage. */
  readonly includesUsage: boolean
  /** True for clients of the older form, with one `function_call` instead of `tool_calls`. */
  readonly isLegacy: boolean
  readonly originOf: (name: string) => ToolOrigin
}

interface Call {
  readonly index: number
  readonly id: string
  readonly origin: ToolOrigin
  /** Reader of the text input; undefined for calls with JSON arguments. */
  readonly input: CustomInput | undefined
  json: string
}

const finishReasons: Readonly<Record<StopReason, string>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  pause_turn: 'stop',
  max_tokens: 'length',
  tool_use: 'tool_calls',
  refusal: 'content_filter',
}

/** Creates a writer of an answer as a chat completion, whole or in chunks. */
export function createChatWriter(options: Options): AnswerWriter {
  const writer = new ChatWriter(options)
  return { take: event => writer.take(event), whole: () => writer.whole(), problem: openAiProblem }
}

class ChatWriter {
  readonly #options: Options
  #model: string
  #text = ''
  #thinking = ''
  readonly #calls: Call[] = []
  readonly #annotations: Json[] = []
  readonly #logprobs: Json[] = []
  /** Signed and redacted thinking, which the client must send back. */
  readonly #details: Json[] = []
  /** Start index and signature of the open thinking block. */
  #thoughtStart = 0
  #signature = ''
  /** Start index and cited pages of the open text block. */
  #textStart = 0
  #cited: UrlCitation[] = []
  /** The open block; undefined between blocks, and for blocks without an equivalent in Chat Completions. */
  #open: 'text' | 'thinking' | Call | undefined
  #usage = noTokens
  #finish = 'stop'
  #hasRole = false
  /** JSON before and after the delta of a chunk. */
  #aroundDelta: readonly string[] | undefined

  constructor(options: Options) {
    this.#options = options
    this.#model = options.model
  }

  take(event: AnswerEvent): string {
    switch (event.type) {
      case 'message_start':
        this.#model = event.model
        return this.#role()
      case 'ping':
        return this.#options.stream ? ': ping\n\n' : ''
      case 'block_start':
        return this.#start(event.block)
      case 'block_delta':
        return this.#more(event.text, event.logprobs)
      case 'block_signature':
        this.#signature += event.signature
        return ''
      case 'block_citation':
        this.#cited.push(...urlCitations(event.citation))
        return ''
      case 'block_stop':
        return this.#stop()
      case 'message_stop':
        this.#finish = this.#finishOf(event.reason)
        this.#usage = event.usage
        return this.#end()
      case 'error':
        return this.#options.stream ? `data: ${JSON.stringify(openAiProblem(event.code, event.message))}\n\n` : ''
    }
  }

  whole(): object {
    const { id, createdAt, isLegacy } = this.#options
    const calls = this.#calls.map(call => ({ id: call.id, ...wholeCall(call) }))
    const [first] = this.#calls
    const message = {
      role: 'assistant',
      content: this.#text === '' && calls.length > 0 ? null : this.#text,
      refusal: null,
      ...(this.#thinking !== '' && { reasoning_content: this.#thinking }),
      ...(this.#details.length > 0 && { reasoning_details: this.#details }),
      ...(this.#annotations.length > 0 && { annotations: this.#annotations }),
      ...(isLegacy && first && { function_call: { name: first.origin.name, arguments: first.json } }),
      ...(!isLegacy && calls.length > 0 && { tool_calls: calls }),
    }
    const logprobs = this.#logprobs.length > 0 ? { content: this.#logprobs, refusal: null } : null
    return {
      id,
      object: 'chat.completion',
      created: createdAt,
      model: this.#model,
      choices: [{ index: 0, message, logprobs, finish_reason: this.#finish }],
      usage: chatUsage(this.#usage),
    }
  }

  #start(block: Extract<AnswerEvent, { type: 'block_start' }>['block']): string {
    if (block.type === 'whole') {
      this.#open = undefined
      const { type, data } = block.block
      return type === 'redacted_thinking' ? this.#detail(encryptedDetail(data, this.#details.length)) : ''
    }
    if (block.type !== 'tool_use') {
      this.#open = block.type
      this.#textStart = this.#text.length
      this.#thoughtStart = this.#thinking.length
      this.#signature = ''
      return ''
    }
    const origin = this.#options.originOf(block.name)
    const input = origin.kind === 'custom' ? createCustomInput() : undefined
    const call = { index: this.#calls.length, id: block.id, origin, input, json: '' }
    this.#calls.push(call)
    this.#open = call
    return this.#callStart(call)
  }

  #callStart({ index, id, origin }: Call): string {
    const { name, kind } = origin
    if (this.#options.isLegacy) return index > 0 ? '' : this.#delta({ function_call: { name, arguments: '' } })
    const begun = kind === 'custom' ? { custom: { name, input: '' } } : { function: { name, arguments: '' } }
    return this.#delta({ tool_calls: [{ index, id, type: kind === 'custom' ? 'custom' : 'function', ...begun }] })
  }

  #more(text: string, logprobs?: Logprobs): string {
    const open = this.#open
    if (open === undefined) return ''
    if (open === 'text') {
      this.#text += text
      return logprobs ? this.#textWithLogprobs(text, logprobs) : this.#textDelta('content', text)
    }
    if (open === 'thinking') {
      this.#thinking += text
      return this.#textDelta('reasoning_content', text)
    }
    open.json += text
    return this.#callMore(open, open.input ? open.input.push(text) : text)
  }

  /** Writes text with its logprobs. */
  #textWithLogprobs(content: string, given: Logprobs): string {
    const logprobs = given.map(chatLogprob)
    addAll(this.#logprobs, logprobs)
    const { stream, includesUsage } = this.#options
    if (!stream) return ''
    const choiceWithLogprobs = { ...choice({ content }, null), logprobs: { content: logprobs, refusal: null } }
    return this.#role() + this.#chunk({ choices: [choiceWithLogprobs], ...(includesUsage && { usage: null }) })
  }

  /** Concatenates strings instead of serialising an object, because nearly all chunks contain text. */
  #textDelta(field: 'content' | 'reasoning_content', text: string): string {
    if (!this.#options.stream) return ''
    const role = this.#role()
    // Occurs only once: quotes inside of JSON strings are escaped.
    this.#aroundDelta ??= this.#delta({}).split('"delta":{}')
    const [head, tail] = this.#aroundDelta
    return `${role}${head}"delta":{"${field}":${JSON.stringify(text)}}${tail}`
  }

  #callMore({ index, input }: Call, text: string): string {
    if (text === '') return ''
    if (this.#options.isLegacy) return index > 0 ? '' : this.#delta({ function_call: { arguments: text } })
    return this.#delta({
      tool_calls: [{ index, ...(input ? { custom: { input: text } } : { function: { arguments: text } }) }],
    })
  }

  #stop(): string {
    const open = this.#open
    this.#open = undefined
    if (open === 'text') return this.#annotate()
    if (open === 'thinking') return this.#sign()
    return typeof open === 'object' && open.input ? this.#callMore(open, open.input.end()) : ''
  }

  /** Writes the citations of a block at its end, because each applies to all text of the block. */
  #annotate(): string {
    if (this.#cited.length === 0) return ''
    const place = { start_index: this.#textStart, end_index: this.#text.length }
    const annotations = this.#cited.map(page => ({ type: 'url_citation', url_citation: { ...page, ...place } }))
    this.#cited = []
    addAll(this.#annotations, annotations)
    return this.#delta({ annotations })
  }

  /** Writes a signature together with the thinking text. The client needs both. */
  #sign(): string {
    if (this.#signature === '') return ''
    const text = this.#thinking.slice(this.#thoughtStart)
    return this.#detail(signedDetail({ text, signature: this.#signature, index: this.#details.length }))
  }

  #detail(detail: Json): string {
    this.#details.push(detail)
    return this.#delta({ reasoning_details: [detail] })
  }

  #finishOf(reason: StopReason): string {
    return reason === 'tool_use' && this.#options.isLegacy ? 'function_call' : finishReasons[reason]
  }

  #end(): string {
    const { stream, includesUsage } = this.#options
    if (!stream) return ''
    const last = this.#chunk({ choices: [choice({}, this.#finish)], ...(includesUsage && { usage: null }) })
    const usage = includesUsage ? this.#chunk({ choices: [], usage: chatUsage(this.#usage) }) : ''
    return `${this.#role()}${last}${usage}data: [DONE]\n\n`
  }

  /** Returns the first chunk, which contains the role; an empty string after it. */
  #role(): string {
    if (this.#hasRole) return ''
    this.#hasRole = true
    return this.#delta({ role: 'assistant', content: '', refusal: null })
  }

  #delta(delta: Json): string {
    const { stream, includesUsage } = this.#options
    if (!stream) return ''
    return this.#role() + this.#chunk({ choices: [choice(delta, null)], ...(includesUsage && { usage: null }) })
  }

  #chunk(fields: Json): string {
    const { id, createdAt } = this.#options
    const chunk = { id, object: 'chat.completion.chunk', created: createdAt, model: this.#model, ...fields }
    return `data: ${JSON.stringify(chunk)}\n\n`
  }
}

const choice = (delta: Json, finish: string | null) => ({ index: 0, delta, logprobs: null, finish_reason: finish })

/** Adds `bytes`, which streams of Responses omit and Chat Completions clients expect. */
const chatLogprob = (entry: Json): Json => ({
  ...entry,
  bytes: entry['bytes'] ?? null,
  top_logprobs: recordsOf(entry['top_logprobs']).map(other => ({ ...other, bytes: other['bytes'] ?? null })),
})

const wholeCall = ({ origin: { name, kind }, input, json }: Call) =>
  kind === 'custom'
    ? { type: 'custom', custom: { name, input: input?.text ?? '' } }
    : { type: 'function', function: { name, arguments: json } }
