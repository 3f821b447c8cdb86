import { type Json, recordOf } from '../../../platform/json.ts'
import type { AnswerEvent, Logprobs, StopReason } from '../../core/answer-event.ts'
import type { AnswerWriter } from '../../core/client-format.ts'
import { noTokens } from '../../tokens/token-counts.ts'
import { openAiProblem, responseUsage, urlCitations } from '../shared/openai-answer.ts'
import type { ToolOrigin } from '../shared/tools.ts'
import {
  callItem,
  type ItemStatus,
  messageItem,
  type OutputItem,
  type ResponseEvent,
  reasoningItem,
  redactedReasoningItem,
} from './write-items.ts'

interface Options {
  /** Common part of all ids in an answer. */
  readonly key: string
  readonly createdAt: number
  /** Model name used if the upstream returns none. */
  readonly model: string
  readonly stream: boolean
  /** Response fields that repeat the request. */
  readonly echo: Json
  readonly originOf: (name: string) => ToolOrigin
}

/** Creates a writer of an answer as a response or as its events. The last event contains the whole response. */
export function createResponseWriter(options: Options): AnswerWriter {
  const writer = new ResponseWriter(options)
  return { take: event => writer.take(event), whole: () => writer.whole(), problem: openAiProblem }
}

type Block = Extract<AnswerEvent, { type: 'block_start' }>['block']

class ResponseWriter {
  readonly #options: Options
  #model: string
  #usage = noTokens
  #stopReason: StopReason = 'end_turn'
  readonly #output: Json[] = []
  #open: OutputItem | undefined
  #isShown = false
  #hasStarted = false
  #number = 0

  constructor(options: Options) {
    this.#options = options
    this.#model = options.model
  }

  take(event: AnswerEvent): string {
    switch (event.type) {
      case 'message_start':
        this.#model = event.model
        this.#usage = event.usage
        return this.#start()
      case 'ping':
        return this.#options.stream ? ': ping\n\n' : ''
      case 'block_start':
        return this.#close('completed') + this.#begin(event.block)
      case 'block_delta':
        return this.#more(event.text, event.logprobs)
      case 'block_signature':
        this.#open?.sign(event.signature)
        return ''
      case 'block_citation':
        for (const page of urlCitations(event.citation)) this.#open?.cite?.(page)
        return ''
      case 'block_stop':
        // The item stays open: only the next event shows whether the token limit truncated it.
        return ''
      case 'message_stop':
        this.#stopReason = event.reason
        this.#usage = event.usage
        return this.#close(event.reason === 'max_tokens' ? 'incomplete' : 'completed') + this.#end()
      case 'error':
        return this.#start() + this.#fail(event)
    }
  }

  whole(): object {
    const details = incomplete[this.#stopReason]
    return {
      ...this.#response(details ? 'incomplete' : 'completed'),
      completed_at: details ? null : this.#options.createdAt,
      incomplete_details: details ? { reason: details } : null,
      output: this.#output,
      usage: responseUsage(this.#usage),
    }
  }

  #response(status: string): Json {
    const { key, createdAt, echo } = this.#options
    return {
      id: `resp_${key}`,
      object: 'response',
      created_at: createdAt,
      status,
      background: false,
      completed_at: null,
      error: null,
      incomplete_details: null,
      ...echo,
      model: this.#model,
      output: [],
      usage: null,
    }
  }

  #start(): string {
    if (this.#hasStarted) return ''
    this.#hasStarted = true
    const response = this.#response('in_progress')
    return this.#frames([
      { type: 'response.created', response },
      { type: 'response.in_progress', response },
    ])
  }

  #begin(block: Block): string {
    if (block.type === 'whole') return this.#addWhole(block.block)
    const place = { id: this.#itemId(block.type), index: this.#output.length }
    this.#isShown = false
    this.#open =
      block.type === 'text'
        ? messageItem(place)
        : block.type === 'thinking'
          ? reasoningItem(place)
          : callItem(place, block.id, this.#options.originOf(block.name))
    return this.#open.shownWhen === 'at_once' ? this.#show() : ''
  }

  #itemId(type: string): string {
    return `${itemPrefixes[type] ?? 'fc'}_${this.#options.key}_${this.#output.length}`
  }

  #show(): string {
    if (this.#isShown || !this.#open) return ''
    this.#isShown = true
    return this.#itemEvent(
      'added',
      this.#open.item(this.#open.shownWhen === 'when_whole' ? 'completed' : 'in_progress'),
    )
  }

  #itemEvent(event: 'added' | 'done', item: Json): string {
    const output_index = this.#output.length
    return this.#frames([{ type: `response.output_item.${event}`, output_index, item }])
  }

  #more(text: string, logprobs?: Logprobs): string {
    if (!this.#open) return ''
    const shown = this.#open.shownWhen === 'with_text' ? this.#show() : ''
    return shown + this.#frames(this.#open.more(text, logprobs))
  }

  #close(status: ItemStatus): string {
    const open = this.#open
    if (!open) return ''
    const isDropped = open.shownWhen === 'with_text' && !this.#isShown
    const before = isDropped ? '' : this.#show() + this.#frames(open.close())
    this.#open = undefined
    return isDropped ? '' : before + this.#add(open.item(status))
  }

  /** Completes an item and adds it to the output. */
  #add(item: Json): string {
    const done = this.#itemEvent('done', item)
    this.#output.push(item)
    return done
  }

  #addWhole(block: Json & { readonly type: string }): string {
    const item = wholeItem(block, type => this.#itemId(type))
    return item ? this.#itemEvent('added', item) + this.#add(item) : ''
  }

  #end(): string {
    const response = this.whole() as Json
    return this.#frames([{ type: `response.${String(response['status'])}`, response }])
  }

  #fail({ code, message }: Extract<AnswerEvent, { type: 'error' }>): string {
    const { error } = openAiProblem(code, message)
    const response = {
      ...this.#response('failed'),
      error: { code: error.code ?? error.type, message },
      output: this.#output,
      usage: this.#usage === noTokens ? null : responseUsage(this.#usage),
    }
    return this.#frames([{ type: 'response.failed', response }])
  }

  #frames(events: readonly ResponseEvent[]): string {
    if (!this.#options.stream) return ''
    return events
      .map(event => {
        const { type, ...rest } = event
        return `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: this.#number++, ...rest })}\n\n`
      })
      .join('')
  }
}

const itemPrefixes: Readonly<Record<string, string>> = {
  text: 'msg',
  thinking: 'rs',
  redacted_thinking: 'rs',
  server_tool_use: 'ws',
  compaction: 'cmp',
}

const incomplete: Partial<Record<StopReason, string>> = {
  max_tokens: 'max_output_tokens',
  refusal: 'content_filter',
}

/** Converts a `whole` block to an item; undefined for blocks without an equivalent in Responses. */
function wholeItem(block: Json & { readonly type: string }, idOf: (type: string) => string): Json | undefined {
  const { type, name, input } = block
  if (type === 'redacted_thinking') return redactedReasoningItem(idOf(type), block)
  if (type === 'compaction') return { id: idOf(type), ...block }
  if (type !== 'server_tool_use' || name !== 'web_search') return undefined
  const { query } = recordOf(input)
  return {
    type: 'web_search_call',
    id: idOf(type),
    status: 'completed',
    action: { type: 'search', query: query ?? '' },
  }
}
