import type { ScriptedBlock, ScriptedMessage } from '../message-frames.ts'
import { allInput, counted, type Dialect, dataFrame, pieces, searchesIn } from './dialect.ts'

/** OpenAI's Chat Completions, with `reasoning_content` as compatible servers send it. */
export const openaiChat: Dialect = {
  requestKind(path, { stream }) {
    if (path.endsWith('/embeddings')) return 'embeddings'
    if (!path.endsWith('/chat/completions')) return undefined
    return stream === true ? 'stream' : 'whole'
  },
  frames: message => [
    chunk(message, { role: 'assistant', content: '' }),
    ...deltas(message).map(delta => chunk(message, delta)),
    chunk(message, {}, finishReason(message)),
    dataFrame({ ...head(message, 'chat.completion.chunk'), choices: [], usage: usage(message) }),
    Buffer.from('data: [DONE]\n\n'),
  ],
  whole: message => ({
    ...head(message, 'chat.completion'),
    choices: [{ index: 0, message: wholeMessage(message), finish_reason: finishReason(message), logprobs: null }],
    usage: usage(message),
  }),
  count: () => undefined,
  embeddings({ input, model, encoding_format }) {
    const vectors = [input].flat().map((_, index) => [index, 0.5, -0.25])
    const data = vectors.map((vector, index) => ({
      object: 'embedding',
      index,
      embedding:
        encoding_format === 'base64' ? Buffer.from(Float32Array.from(vector).buffer).toString('base64') : vector,
    }))
    return { object: 'list', data, model, usage: { prompt_tokens: 25, total_tokens: 25 } }
  },
  streamType: 'text/event-stream',
  error: (status, message) => ({
    error: { message, type: status === 429 ? 'rate_limit_error' : 'invalid_request_error', param: null, code: null },
  }),
  brokenFrame: dataFrame({ error: { message: 'The server had an error', type: 'server_error', code: null } }),
}

const head = ({ id, model }: ScriptedMessage, object: string) => ({
  id: `chatcmpl-${id}`,
  object,
  created: 1_790_000_000,
  model,
})

const chunk = (message: ScriptedMessage, delta: object, finish: string | null = null): Buffer =>
  dataFrame({
    ...head(message, 'chat.completion.chunk'),
    choices: [{ index: 0, delta, finish_reason: finish, logprobs: null }],
    usage: null,
  })

function deltas({ content }: ScriptedMessage): object[] {
  const calls = content.filter(block => block.type === 'tool_use')
  return content.flatMap(block => blockDeltas(block, calls.indexOf(block as (typeof calls)[number])))
}

function blockDeltas(block: ScriptedBlock, call: number): object[] {
  switch (block.type) {
    case 'thinking':
      return pieces(block.thinking).map(text => ({ reasoning_content: text }))
    case 'text':
      return pieces(block.text).map(text => ({ content: text }))
    case 'tool_use':
      return callDeltas(block, call)
  }
}

function callDeltas(block: Extract<ScriptedBlock, { type: 'tool_use' }>, index: number): object[] {
  const opening = { index, id: block.id, type: 'function', function: { name: block.name, arguments: '' } }
  const rest = pieces(JSON.stringify(block.input)).map(text => ({ index, function: { arguments: text } }))
  return [opening, ...rest].map(call => ({ tool_calls: [call] }))
}

function wholeMessage({ content }: ScriptedMessage): object {
  const text = content.map(block => (block.type === 'text' ? block.text : '')).join('')
  const thinking = content.map(block => (block.type === 'thinking' ? block.thinking : '')).join('')
  const calls = content.flatMap(block =>
    block.type === 'tool_use'
      ? [{ id: block.id, type: 'function', function: { name: block.name, arguments: JSON.stringify(block.input) } }]
      : [],
  )
  return {
    role: 'assistant',
    content: text === '' ? null : text,
    ...(thinking !== '' && { reasoning_content: thinking }),
    ...(calls.length > 0 && { tool_calls: calls }),
  }
}

function finishReason({ stop_reason }: ScriptedMessage): string {
  const reasons: Readonly<Record<string, string>> = {
    tool_use: 'tool_calls',
    max_tokens: 'length',
    refusal: 'content_filter',
  }
  return reasons[stop_reason] ?? 'stop'
}

const usage = (message: ScriptedMessage) => ({
  prompt_tokens: allInput(message),
  completion_tokens: message.usage.output_tokens,
  total_tokens: allInput(message) + message.usage.output_tokens,
  prompt_tokens_details: { cached_tokens: counted(message, 'cache_read_input_tokens') },
  completion_tokens_details: { reasoning_tokens: 0 },
  ...(searchesIn(message) > 0 && { server_tool_use: { web_search_requests: searchesIn(message) } }),
})
