import type { ScriptedBlock, ScriptedMessage } from '../message-frames.ts'
import { allInput, counted, type Dialect, dataFrame, pieces, searchesIn } from './dialect.ts'

/** Google's generateContent. A call comes whole, in one chunk, with its thought signature. */
export const gemini: Dialect = {
  requestKind(path) {
    if (path.endsWith(':countTokens')) return 'count'
    if (path.endsWith(':streamGenerateContent')) return 'stream'
    return path.endsWith(':generateContent') ? 'whole' : undefined
  },
  frames(message) {
    const parts = message.content.flatMap(block => partsOf(block, pieces))
    const chunks = parts.map(part => answer(message, [part]))
    return [...chunks, answer(message, [{ text: '' }], finishReason(message))].map(dataFrame)
  },
  whole: message =>
    answer(
      message,
      message.content.flatMap(block => partsOf(block, text => [text])),
      finishReason(message),
    ),
  count: tokens => ({ totalTokens: tokens }),
  streamType: 'text/event-stream',
  error: (status, message) => ({
    error: { code: status, message, ...(statusNames[status] && { status: statusNames[status] }) },
  }),
  brokenFrame: dataFrame({ error: { code: 503, message: 'The model is overloaded.', status: 'UNAVAILABLE' } }),
}

const statusNames: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  429: 'RESOURCE_EXHAUSTED',
  500: 'INTERNAL',
  503: 'UNAVAILABLE',
}

function partsOf(block: ScriptedBlock, cut: (text: string) => readonly string[]): object[] {
  switch (block.type) {
    case 'thinking': {
      const thoughts = cut(block.thinking).map(text => ({ text, thought: true }))
      return [...thoughts, { text: '', thought: true, thoughtSignature: block.signature }]
    }
    case 'text':
      return cut(block.text).map(text => ({ text }))
    case 'tool_use':
      return [
        {
          functionCall: { id: block.id, name: block.name, args: block.input },
          thoughtSignature: `thought_${block.id}`,
        },
      ]
  }
}

const reasons: Readonly<Record<string, string>> = { max_tokens: 'MAX_TOKENS', refusal: 'SAFETY' }

const finishReason = ({ stop_reason }: ScriptedMessage): string => reasons[stop_reason] ?? 'STOP'

function grounding(message: ScriptedMessage) {
  const queries = Array.from({ length: searchesIn(message) }, (_, at) => `query ${at}`)
  return queries.length > 0 && { groundingMetadata: { webSearchQueries: queries } }
}

const answer = (message: ScriptedMessage, parts: readonly object[], finish?: string) => ({
  candidates: [
    {
      content: { role: 'model', parts },
      index: 0,
      ...(finish !== undefined && { finishReason: finish, ...grounding(message) }),
    },
  ],
  usageMetadata: {
    promptTokenCount: allInput(message),
    cachedContentTokenCount: counted(message, 'cache_read_input_tokens'),
    candidatesTokenCount: message.usage.output_tokens,
    totalTokenCount: allInput(message) + message.usage.output_tokens,
  },
  modelVersion: message.model,
  responseId: message.id,
})
