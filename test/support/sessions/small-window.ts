import type { Call, Sink } from '../../../src/server/gateway/core/call.ts'
import { estimateInputTokens } from '../../../src/server/gateway/tokens/estimate.ts'
import { noTokens } from '../../../src/server/gateway/tokens/token-counts.ts'
import { wholeEchoes } from '../../../src/server/platform/echoes.ts'
import type { Message } from '../../../src/server/runtimes/builtin/context/blocks.ts'
import { fullUsage, messageFrames, type ScriptedBlock } from '../upstream/message-frames.ts'

/** A request as the model got it. */
export interface WindowRequest {
  readonly messages: readonly Message[]
  readonly max_tokens: number
  readonly system: unknown
  readonly tools?: unknown
  /** What the model counts for it. */
  readonly tokens: number
  /** True when it asks for a summary. */
  readonly isSummary: boolean
}

/** The answer of the model to a request: a text, and calls of tools. */
export interface WindowAnswer {
  readonly text: string
  readonly tools?: readonly { readonly name: string; readonly input: unknown }[]
}

interface Options {
  /** Tokens of input and answer; a longer request is rejected as providers do. */
  readonly window: number
  readonly answer: (request: WindowRequest, index: number) => WindowAnswer
  /** Called before a request is answered; what it throws is the gateway's own rejection. */
  readonly before?: (request: WindowRequest) => void | Promise<void>
}

/** All contents of a request, as text. */
export const wordsOf = ({ messages }: Pick<WindowRequest, 'messages'>): string => JSON.stringify(messages)

/** Words like FACT-17 in a text, in their order, each once. */
export const factsIn = (text: string): string[] => [...new Set(text.match(/FACT-\d+/g) ?? [])]

/** A gateway whose model counts tokens, a tenth less than our estimate, and rejects what its window has no room for. */
export function smallWindow({ window, answer, before = () => undefined }: Options) {
  const requests: WindowRequest[] = []
  const rejected: WindowRequest[] = []
  return {
    requests,
    rejected,
    echoes: () => wholeEchoes([]),
    async call({ body, signal }: Call, sink: Sink) {
      const parsed = JSON.parse(body.toString()) as Omit<WindowRequest, 'tokens' | 'isSummary'>
      const order = parsed.messages.at(-1)?.content.at(-1)?.['text']
      const isSummary = typeof order === 'string' && order.startsWith('Write a summary')
      const request = { ...parsed, isSummary, tokens: Math.floor(estimateInputTokens(parsed) * 0.9) }
      await before(request)
      if (request.tokens + request.max_tokens > window) {
        rejected.push(request)
        const message = `prompt is too long: ${request.tokens} tokens > ${window} maximum`
        sink.head(400, {})
        sink.end(Buffer.from(JSON.stringify({ type: 'error', error: { type: 'invalid_request_error', message } })))
        return { ...ended, status: 400, outcome: 'failed', reason: 'context_window' } as const
      }
      const at = requests.push(request) - 1
      sink.head(200, {})
      for (const frame of messageFrames(messageOf(answer(request, at), at, request.tokens))) {
        if (!signal.aborted) sink.data(Buffer.from(frame))
      }
      sink.end()
      return { ...ended, outcome: 'completed' } as const
    },
  }
}

const ended = { status: 200, stopReason: undefined, usage: noTokens, firstContentMs: 1 } as const

function messageOf({ text, tools = [] }: WindowAnswer, at: number, inputTokens: number) {
  const calls: ScriptedBlock[] = tools.map(({ name, input }, number) => ({
    type: 'tool_use',
    id: `toolu_${at}_${number}`,
    name,
    input,
  }))
  return {
    id: `m_${at}`,
    type: 'message',
    role: 'assistant',
    model: 'demo',
    content: [...(text === '' ? [] : [{ type: 'text' as const, text }]), ...calls],
    stop_reason: calls.length > 0 ? 'tool_use' : 'end_turn',
    stop_sequence: null,
    usage: fullUsage(inputTokens, Math.ceil(text.length / 4)),
  } as const
}
