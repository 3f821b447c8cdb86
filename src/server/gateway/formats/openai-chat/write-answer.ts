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
  /** The name that stands for one that the upstream does not give. */
  readonly model: string
  readonly stream: boolean
  /** True when the stream ends with a chunk that states the usage. */
  readonly includesUsage: boolean
  /** True for clients that know one `function_call` and no `tool_calls`. */
  readonly isLegacy: boolean
  readonly originOf: (name: string) => ToolOrigin
}

interface Call {
  readonly index: number
  readonly id: string
  readonly origin: ToolOrigin
  /** Absent for calls whose arguments are JSON. */
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

/** Says an answer as a chat completion, or as its chunks. */
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
  /** What the client has to send back for the model to go on from its thoughts. */
  readonly #details: Json[] = []
  /** Of the thinking block that is being said: where it begins, and its signature. */
  #thoughtStart = 0
  #signature = ''
  /** Of the text block that is being said: where it begins, and the pages behind it. */
  #textStart = 0
  #cited: UrlCitation[] = []
  /** What the open block is; undefined between blocks and for blocks that chats do not have. */
  #open: 'text' | 'thinking' | Call | undefined
  #usage = noTokens
  #finish = 'stop'
  #hasRole = false
  /** A chunk without its delta. */
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
      return logprobs ? this.#likely(text, logprobs) : this.#prose('content', text)
    }
    if (open === 'thinking') {
      this.#thinking += text
      return this.#prose('reasoning_content', text)
    }
    open.json += text
    return this.#callMore(open, open.input ? open.input.push(text) : text)
  }

  /** Text with the chances of its tokens. */
  #likely(content: string, given: Logprobs): string {
    const logprobs = given.map(chatLogprob)
    this.#logprobs.push(...logprobs)
    const { stream, includesUsage } = this.#options
    if (!stream) return ''
    const said = { ...choice({ content }, null), logprobs: { content: logprobs, refusal: null } }
    return this.#role() + this.#chunk({ choices: [said], ...(includesUsage && { usage: null }) })
  }

  /** Nearly all chunks bring text: they are put together without an object to walk. */
  #prose(field: 'content' | 'reasoning_content', text: string): string {
    if (!this.#options.stream) return ''
    const role = this.#role()
    // No quote within a string is bare, so this stands in one place only.
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

  /** A citation stands for all of its block's text, so its place is known at the end alone. */
  #annotate(): string {
    if (this.#cited.length === 0) return ''
    const place = { start_index: this.#textStart, end_index: this.#text.length }
    const annotations = this.#cited.map(page => ({ type: 'url_citation', url_citation: { ...page, ...place } }))
    this.#cited = []
    this.#annotations.push(...annotations)
    return this.#delta({ annotations })
  }

  /** A signature is of use with the whole text that it signs, so both go out together. */
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

  /** The first chunk says who speaks. */
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

/** Responses leave out the bytes of a token in their streams, and clients of Chat expect the field. */
const chatLogprob = (entry: Json): Json => ({
  ...entry,
  bytes: entry['bytes'] ?? null,
  top_logprobs: recordsOf(entry['top_logprobs']).map(other => ({ ...other, bytes: other['bytes'] ?? null })),
})

const wholeCall = ({ origin: { name, kind }, input, json }: Call) =>
  kind === 'custom'
    ? { type: 'custom', custom: { name, input: input?.text ?? '' } }
    : { type: 'function', function: { name, arguments: json } }
