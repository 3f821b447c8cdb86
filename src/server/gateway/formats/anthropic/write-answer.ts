import { anthropicError } from '../../../../contract/errors.ts'
import type { Json } from '../../../platform/json.ts'
import { toolInputIn } from '../../bytes/exact-numbers.ts'
import type { AnswerEvent, BlockStart, StopReason } from '../../core/answer-event.ts'
import type { AnswerWriter, ClientFormat, CountFormat } from '../../core/client-format.ts'
import type { TokenCounts } from '../../tokens/token-counts.ts'

/** Client format of Anthropic's Messages, whose requests are canonical already. */
export const anthropicClient: ClientFormat = (request, { stream, requestId }) => ({
  body: request,
  degraded: [],
  ownNames: {},
  writer: createAnthropicWriter({ stream, requestId }),
})

/** Token counting of Anthropic's Messages. */
export const anthropicCounts: CountFormat = {
  read(request, { requestId }) {
    const { problem } = createAnthropicWriter({ stream: false, requestId })
    return { body: request, degraded: [], ownNames: {}, problem }
  },
  write: inputTokens => ({ input_tokens: inputTokens }),
}

interface Options {
  readonly stream: boolean
  readonly requestId: string
}

/** Creates a writer of an answer in Anthropic's format, as a stream or as a whole message. */
export function createAnthropicWriter({
  stream,
  requestId,
}: Options): Omit<AnswerWriter, 'whole'> & { whole(): Json | undefined } {
  const problem: AnswerWriter['problem'] = (code, message) => anthropicError(code, message, requestId)
  if (stream) {
    const writer = new StreamWriter(problem)
    return { take: event => writer.take(event), whole: () => undefined, problem }
  }
  const collector = new MessageCollector()
  return {
    take(event) {
      collector.take(event)
      return ''
    },
    whole: () => collector.message(),
    problem,
  }
}

/** Returns all usage fields that Anthropic sends. Clients fail on missing ones. */
const usageOf = (counts: TokenCounts) => ({
  input_tokens: counts.input_tokens,
  cache_creation_input_tokens: counts.cache_write_5m_tokens + counts.cache_write_1h_tokens,
  cache_read_input_tokens: counts.cache_read_tokens,
  cache_creation: {
    ephemeral_5m_input_tokens: counts.cache_write_5m_tokens,
    ephemeral_1h_input_tokens: counts.cache_write_1h_tokens,
  },
  output_tokens: counts.output_tokens,
  ...(counts.web_searches > 0 && { server_tool_use: { web_search_requests: counts.web_searches } }),
  service_tier: 'standard',
})

type Start = Extract<AnswerEvent, { readonly type: 'message_start' }>
type Stop = Extract<AnswerEvent, { readonly type: 'message_stop' }>

const messageOf = ({ id, model, usage }: Start) => ({
  id,
  type: 'message',
  role: 'assistant',
  model,
  content: [],
  stop_reason: null,
  stop_sequence: null,
  usage: usageOf(usage),
})

/** Returns the block of content_block_start, without the content of its deltas. */
function emptyBlock(block: BlockStart): Json {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: '' }
    case 'thinking':
      return { type: 'thinking', thinking: '', signature: '' }
    case 'tool_use':
      return { type: 'tool_use', id: block.id, name: block.name, input: {} }
    case 'whole':
      return block.block
  }
}

/** JSON of a delta event up to its text, by block type. A `whole` block has no deltas. */
const deltaStarts: Readonly<Record<BlockStart['type'], string>> = {
  text: ',"delta":{"type":"text_delta","text":',
  thinking: ',"delta":{"type":"thinking_delta","thinking":',
  tool_use: ',"delta":{"type":"input_json_delta","partial_json":',
  whole: '',
}
const signatureStart = ',"delta":{"type":"signature_delta","signature":'

/** Writer of Anthropic's stream. Assigns the block indexes. */
class StreamWriter {
  readonly #problem: AnswerWriter['problem']
  #index = -1
  #deltaStart = ''

  constructor(problem: AnswerWriter['problem']) {
    this.#problem = problem
  }

  take(event: AnswerEvent): string {
    switch (event.type) {
      case 'block_delta':
        return this.#delta(this.#deltaStart, event.text)
      case 'block_signature':
        return this.#delta(signatureStart, event.signature)
      case 'block_citation':
        return frame('content_block_delta', {
          index: this.#index,
          delta: { type: 'citations_delta', citation: event.citation.own },
        })
      case 'message_start':
        return frame('message_start', { message: messageOf(event) })
      case 'block_start':
        this.#deltaStart = deltaStarts[event.block.type]
        return frame('content_block_start', { index: ++this.#index, content_block: emptyBlock(event.block) })
      case 'block_stop':
        return frame('content_block_stop', { index: this.#index })
      case 'message_stop':
        return endFrames(event)
      case 'ping':
        return 'event: ping\ndata: {"type": "ping"}\n\n'
      case 'error':
        return `event: error\ndata: ${JSON.stringify(this.#problem(event.code, event.message))}\n\n`
    }
  }

  /** Concatenates strings instead of serialising an object, because nearly all frames are deltas. */
  #delta(start: string, text: string): string {
    return `${deltaHead}${this.#index}${start}${JSON.stringify(text)}}}\n\n`
  }
}

const deltaHead = 'event: content_block_delta\ndata: {"type":"content_block_delta","index":'

const frame = (type: string, fields: Json): string => `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`

const endFrames = ({ reason, sequence, usage }: Stop): string =>
  frame('message_delta', { delta: { stop_reason: reason, stop_sequence: sequence }, usage: usageOf(usage) }) +
  frame('message_stop', {})

interface CollectedBlock {
  readonly start: BlockStart
  text: string
  signature: string
  readonly citations: Json[]
}

/** Collects the events of an answer into a message. */
class MessageCollector {
  #start: Start | undefined
  #stop: Stop | undefined
  readonly #blocks: CollectedBlock[] = []

  take(event: AnswerEvent): void {
    const block = this.#blocks.at(-1)
    if (event.type === 'message_start') this.#start = event
    else if (event.type === 'block_start')
      this.#blocks.push({ start: event.block, text: '', signature: '', citations: [] })
    else if (event.type === 'block_delta' && block) block.text += event.text
    else if (event.type === 'block_signature' && block) block.signature += event.signature
    else if (event.type === 'block_citation') block?.citations.push(event.citation.own)
    else if (event.type === 'message_stop') this.#stop = event
  }

  /** Returns the message after message_stop; undefined if the input of a tool call is not a JSON object. */
  message(): Json | undefined {
    if (!this.#start || !this.#stop) return undefined
    const { reason, sequence, usage } = this.#stop
    const content = this.#blocks.map(block => wholeBlock(block, reason))
    if (content.includes(undefined)) return undefined
    const message = messageOf(this.#start)
    return { ...message, content, stop_reason: reason, stop_sequence: sequence, usage: usageOf(usage) }
  }
}

function wholeBlock({ start, text, signature, citations }: CollectedBlock, reason: StopReason): Json | undefined {
  switch (start.type) {
    case 'text':
      return { type: 'text', text, ...(citations.length > 0 && { citations }) }
    case 'thinking':
      return { type: 'thinking', thinking: text, signature }
    case 'tool_use': {
      // A call truncated by the token limit is returned with empty input.
      const input = toolInputIn(text) ?? (reason === 'max_tokens' ? {} : undefined)
      return input && { ...emptyBlock(start), input }
    }
    case 'whole':
      return start.block
  }
}
