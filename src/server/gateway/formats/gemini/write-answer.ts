import { type Json, recordOf, recordsOf, textIn } from '../../../platform/json.ts'
import { toolInputIn } from '../../bytes/exact-numbers.ts'
import type { AnswerEvent, Citation, StopReason } from '../../core/answer-event.ts'
import type { AnswerWriter } from '../../core/client-format.ts'
import { noTokens } from '../../tokens/token-counts.ts'
import type { Block } from '../shared/content-parts.ts'
import { geminiUsage } from '../shared/openai-answer.ts'
import type { ToolOrigin } from '../shared/tools.ts'
import { carrierOf } from './carried-state.ts'
import { geminiErrorBody } from './errors.ts'

interface Options {
  readonly id: string
  /** Model name used if the upstream returns none. */
  readonly model: string
  readonly stream: boolean
  /** True when the client requests the thinking text. */
  readonly showsThoughts: boolean
  readonly originOf: (name: string) => ToolOrigin
}

type Open =
  | { readonly type: 'text' }
  | { readonly type: 'thinking'; text: string; signature: string }
  | { readonly type: 'tool_use'; readonly id: string; readonly name: string; json: string }

const finishReasons: Readonly<Record<StopReason, string>> = {
  end_turn: 'STOP',
  stop_sequence: 'STOP',
  pause_turn: 'STOP',
  tool_use: 'STOP',
  max_tokens: 'MAX_TOKENS',
  refusal: 'SAFETY',
}

/** Creates a writer of an answer in Gemini's format, whole or in chunks. */
export function createGeminiWriter(options: Options): AnswerWriter {
  const writer = new GeminiWriter(options)
  return { take: event => writer.take(event), whole: () => writer.whole(), problem: geminiErrorBody }
}

class GeminiWriter {
  readonly #options: Options
  readonly #grounding = createGrounding()
  readonly #parts: Json[] = []
  #model: string
  #open: Open | undefined
  /** Thinking blocks to put into the signature of the next part. */
  #carried: Block[] = []
  #usage = noTokens
  #reason: StopReason = 'end_turn'

  constructor(options: Options) {
    this.#options = options
    this.#model = options.model
  }

  take(event: AnswerEvent): string {
    switch (event.type) {
      case 'message_start':
        this.#model = event.model
        return ''
      case 'ping':
        // An empty chunk, because older Google clients fail on comments in event streams.
        return this.#frame(this.#chunk({ content: contentOf([{ text: '' }]) }))
      case 'block_start':
        this.#start(event.block)
        return ''
      case 'block_delta':
        return this.#more(event.text)
      case 'block_signature':
        if (this.#open?.type === 'thinking') this.#open.signature += event.signature
        return ''
      case 'block_citation':
        this.#grounding.cite(event.citation)
        return ''
      case 'block_stop':
        return this.#stop()
      case 'message_stop':
        this.#reason = event.reason
        this.#usage = event.usage
        return this.#options.stream ? this.#frame(this.#end([this.#signed({ text: '' })])) : ''
      case 'error':
        return this.#frame(geminiErrorBody(event.code, event.message))
    }
  }

  whole(): object {
    const parts = merged(this.#parts)
    if (this.#carried.length > 0) parts.push(this.#signed({ text: '' }))
    return this.#end(parts)
  }

  #start(block: Extract<AnswerEvent, { type: 'block_start' }>['block']): void {
    switch (block.type) {
      case 'text':
        this.#open = { type: 'text' }
        break
      case 'thinking':
        this.#open = { type: 'thinking', text: '', signature: '' }
        break
      case 'tool_use':
        this.#open = { type: 'tool_use', id: block.id, name: block.name, json: '' }
        break
      case 'whole':
        this.#open = undefined
        if (block.block['type'] === 'redacted_thinking') this.#carried.push(block.block as Block)
        else this.#grounding.take(block.block)
    }
  }

  #more(text: string): string {
    const open = this.#open
    switch (open?.type) {
      case undefined:
        return ''
      case 'text':
        this.#grounding.addText(text)
        return this.#part(this.#signed({ text }))
      case 'thinking':
        open.text += text
        return this.#options.showsThoughts ? this.#part({ text, thought: true }) : ''
      case 'tool_use':
        open.json += text
        return ''
    }
  }

  /** Ends the open block. Calls are written here, because Gemini has no deltas of calls. */
  #stop(): string {
    const open = this.#open
    this.#open = undefined
    if (open?.type === 'text') this.#grounding.endText()
    if (open?.type === 'thinking' && open.signature !== '')
      this.#carried.push({ type: 'thinking', thinking: open.text, signature: open.signature })
    if (open?.type !== 'tool_use') return ''
    const args = toolInputIn(open.json)
    // A call truncated by the token limit must not be executed.
    if (!args) return ''
    const { name } = this.#options.originOf(open.name)
    return this.#part(this.#signed({ functionCall: { id: open.id, name, args } }))
  }

  #signed(part: Json): Json {
    if (this.#carried.length === 0) return part
    const signed = { ...part, thoughtSignature: carrierOf(this.#carried) }
    this.#carried = []
    return signed
  }

  #part(part: Json): string {
    if (!this.#options.stream) this.#parts.push(part)
    return this.#frame(this.#chunk({ content: contentOf([part]) }))
  }

  /** Returns the last chunk, or the whole answer. */
  #end(parts: readonly Json[]): Json {
    const isRefusal = this.#reason === 'refusal'
    const { metadata } = this.#grounding
    return {
      ...this.#chunk({
        ...(parts.length > 0 && { content: contentOf(parts) }),
        finishReason: finishReasons[this.#reason],
        ...(metadata && { groundingMetadata: metadata }),
      }),
      ...(isRefusal && { promptFeedback: { blockReason: 'SAFETY' } }),
      usageMetadata: geminiUsage(this.#usage),
    }
  }

  #chunk(candidate: Json): Json {
    return { candidates: [{ ...candidate, index: 0 }], modelVersion: this.#model, responseId: this.#options.id }
  }

  #frame(value: object): string {
    return this.#options.stream ? `data: ${JSON.stringify(value)}\n\n` : ''
  }
}

const contentOf = (parts: readonly Json[]): Json => ({ parts, role: 'model' })

/** Merges consecutive texts. A text with a signature is not appended to the previous one. */
function merged(parts: readonly Json[]): Json[] {
  const all: Json[] = []
  for (const part of parts) {
    const last = all.at(-1)
    const continuesLast =
      typeof part['text'] === 'string' &&
      part['thoughtSignature'] === undefined &&
      typeof last?.['text'] === 'string' &&
      last['thought'] === part['thought']
    if (continuesLast) all[all.length - 1] = { ...last, text: `${last['text']}${part['text']}` }
    else all.push(part)
  }
  return all
}

/** Collects the results of the provider's web search. */
interface Grounding {
  /** Adds a `whole` block. Blocks that are not from a search are ignored. */
  take(block: Json): void
  /** Adds text of the answer. */
  addText(text: string): void
  /** Adds a source of the current text. */
  cite(citation: Citation): void
  /** Ends the text. Its citations apply to all of it. */
  endText(): void
  /** Gemini's `groundingMetadata`; undefined without a search. */
  readonly metadata: Json | undefined
}

function createGrounding(): Grounding {
  const queries: string[] = []
  const chunks: Json[] = []
  /** Index of the first chunk with a URL. */
  const indexes = new Map<string, number>()
  const supports: Json[] = []
  let text = ''
  let startIndex = 0
  let cited: number[] = []
  const addChunk = (uri: string, title: unknown): number => {
    const at = chunks.push({ web: { uri, title } }) - 1
    if (!indexes.has(uri)) indexes.set(uri, at)
    return at
  }
  return {
    addText(more) {
      text += more
    },
    cite({ url, title }) {
      // A search may have added the page already.
      if (url !== undefined) cited.push(indexes.get(url) ?? addChunk(url, title))
    },
    endText() {
      // Google's indexes count bytes.
      const endIndex = startIndex + Buffer.byteLength(text)
      if (cited.length > 0)
        supports.push({ segment: { startIndex, endIndex, text }, groundingChunkIndices: [...new Set(cited)] })
      startIndex = endIndex
      text = ''
      cited = []
    },
    take({ type, name, input, content }) {
      const query = textIn(recordOf(input)['query'])
      if (type === 'server_tool_use' && name === 'web_search' && query !== undefined) queries.push(query)
      if (type !== 'web_search_tool_result') return
      for (const { url: uri, title } of recordsOf(content)) if (typeof uri === 'string') addChunk(uri, title)
    },
    get metadata() {
      if (queries.length === 0 && chunks.length === 0) return undefined
      return {
        webSearchQueries: queries,
        ...(chunks.length > 0 && { groundingChunks: chunks }),
        ...(supports.length > 0 && { groundingSupports: supports }),
      }
    },
  }
}
