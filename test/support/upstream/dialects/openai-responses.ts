import type { ScriptedBlock, ScriptedMessage } from '../message-frames.ts'
import { allInput, counted, type Dialect, pieces, searchesIn } from './dialect.ts'

/** OpenAI's Responses. Thinking is a summary; its signature travels as the encrypted content. */
export const openaiResponses: Dialect = {
  requestKind(path, { stream }) {
    if (path.endsWith('/responses/input_tokens')) return 'count'
    if (!path.endsWith('/responses')) return undefined
    return stream === true ? 'stream' : 'whole'
  },
  frames: message => numbered(events(message)),
  whole: message => response(message, status(message)),
  count: tokens => ({ object: 'response.input_tokens', input_tokens: tokens }),
  streamType: 'text/event-stream; charset=utf-8',
  error: (code, message) => ({
    error: { message, type: code === 429 ? 'rate_limit_exceeded' : 'invalid_request_error', param: null, code: null },
  }),
  brokenFrame: Buffer.from(
    'event: error\ndata: {"type":"error","code":"server_error","message":"The server had an error","param":null,"sequence_number":99}\n\n',
  ),
}

type Event = Readonly<Record<string, unknown>> & { readonly type: string }

const numbered = (list: readonly Event[]): Buffer[] =>
  list.map((event, at) =>
    Buffer.from(`event: ${event.type}\ndata: ${JSON.stringify({ ...event, sequence_number: at })}\n\n`),
  )

const status = ({ stop_reason }: ScriptedMessage): string =>
  stop_reason === 'max_tokens' || stop_reason === 'refusal' ? 'incomplete' : 'completed'

function events(message: ScriptedMessage): Event[] {
  const opening = { ...response(message, 'in_progress'), output: [], usage: null }
  const end = status(message)
  return [
    { type: 'response.created', response: opening },
    { type: 'response.in_progress', response: opening },
    ...message.content.flatMap((block, at) => itemEvents(item(block, at), at)),
    { type: `response.${end}`, response: response(message, end) },
  ]
}

type Item = ReturnType<typeof item>

function item(block: ScriptedBlock, at: number) {
  switch (block.type) {
    case 'thinking':
      return {
        id: `rs_${at}`,
        type: 'reasoning' as const,
        summary: block.thinking === '' ? [] : [{ type: 'summary_text', text: block.thinking }],
        encrypted_content: block.signature,
      }
    case 'text':
      return {
        id: `msg_${at}`,
        type: 'message' as const,
        status: 'completed',
        role: 'assistant',
        content: [{ type: 'output_text', text: block.text, annotations: [], logprobs: [] }],
      }
    case 'tool_use':
      return {
        id: `fc_${at}`,
        type: 'function_call' as const,
        status: 'completed',
        call_id: block.id,
        name: block.name,
        arguments: JSON.stringify(block.input),
      }
  }
}

function itemEvents(whole: Item, at: number): Event[] {
  const place = { item_id: whole.id, output_index: at }
  const opened = (empty: object): Event => ({
    type: 'response.output_item.added',
    output_index: at,
    item: { ...whole, ...empty },
  })
  const done: Event = { type: 'response.output_item.done', output_index: at, item: whole }
  switch (whole.type) {
    case 'reasoning':
      return [opened({ summary: [] }), ...whole.summary.flatMap(part => summaryEvents(part.text, place)), done]
    case 'message':
      return [opened({ content: [], status: 'in_progress' }), ...textEvents(whole.content[0]?.text ?? '', place), done]
    case 'function_call':
      return [
        opened({ arguments: '', status: 'in_progress' }),
        ...pieces(whole.arguments).map(delta => ({ type: 'response.function_call_arguments.delta', ...place, delta })),
        { type: 'response.function_call_arguments.done', ...place, arguments: whole.arguments },
        done,
      ]
  }
}

function summaryEvents(text: string, place: object): Event[] {
  const at = { ...place, summary_index: 0 }
  return [
    { type: 'response.reasoning_summary_part.added', ...at, part: { type: 'summary_text', text: '' } },
    ...pieces(text).map(delta => ({ type: 'response.reasoning_summary_text.delta', ...at, delta })),
    { type: 'response.reasoning_summary_text.done', ...at, text },
    { type: 'response.reasoning_summary_part.done', ...at, part: { type: 'summary_text', text } },
  ]
}

function textEvents(text: string, place: object): Event[] {
  const at = { ...place, content_index: 0 }
  const part = { type: 'output_text', annotations: [] }
  return [
    { type: 'response.content_part.added', ...at, part: { ...part, text: '' } },
    ...pieces(text).map(delta => ({ type: 'response.output_text.delta', ...at, delta, logprobs: [] })),
    { type: 'response.output_text.done', ...at, text, logprobs: [] },
    { type: 'response.content_part.done', ...at, part: { ...part, text } },
  ]
}

/** The calls of the search, and one read of a page, which is free. */
function searchItems(message: ScriptedMessage): object[] {
  const count = searchesIn(message)
  if (count === 0) return []
  const call = (at: number, action: object) => ({
    id: `ws_${at}`,
    type: 'web_search_call',
    status: 'completed',
    action,
  })
  const searches = Array.from({ length: count }, (_, at) => call(at, { type: 'search', query: `query ${at}` }))
  return [...searches, call(count, { type: 'open_page', url: 'https://example.com' })]
}

const reasons: Readonly<Record<string, string>> = { max_tokens: 'max_output_tokens', refusal: 'content_filter' }

function response(message: ScriptedMessage, state: string) {
  const reason = reasons[message.stop_reason]
  return {
    id: `resp_${message.id}`,
    object: 'response',
    created_at: 1_790_000_000,
    status: state,
    error: null,
    incomplete_details: state === 'incomplete' ? { reason } : null,
    model: message.model,
    output: [...message.content.map(item), ...(state === 'in_progress' ? [] : searchItems(message))],
    parallel_tool_calls: true,
    store: false,
    usage: {
      input_tokens: allInput(message),
      input_tokens_details: { cached_tokens: counted(message, 'cache_read_input_tokens') },
      output_tokens: message.usage.output_tokens,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: allInput(message) + message.usage.output_tokens,
    },
  }
}
