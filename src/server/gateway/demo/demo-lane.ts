import { setImmediate as nextTick } from 'node:timers/promises'
import type { Deployment } from '../../config/config.ts'
import { newId } from '../../platform/ids.ts'
import type { Leaving } from '../../platform/leaving.ts'
import type { Attempt, Lane, Outcome, Sink } from '../core/call.ts'
import { parsedObject } from '../core/request.ts'
import { answerEstimate } from '../tokens/count-tokens.ts'
import { estimateInputTokens, estimateTextTokens } from '../tokens/estimate.ts'
import { noTokens, withUsage } from '../tokens/token-counts.ts'
import { streamHeaders } from '../upstream/headers.ts'
import { type DemoTurn, demoTurn } from './demo-script.ts'
import { fullUsage, messageFrames, type SpokenMessage } from './message-frames.ts'

/** The scripted model as a deployment: it is resolved, run and booked like any other. */
export const demoDeployment: Deployment = {
  id: 'demo',
  alias: 'demo',
  provider: 'switchyard',
  upstreamModel: 'demo',
  protocols: ['demo'],
  apiBase: '',
  apiKey: undefined,
  headers: {},
  weight: 1,
  timeouts: { connectMs: 5_000, firstByteMs: 60_000, idleMs: 60_000, totalMs: 600_000 },
  prices: { input: 0, output: 0 },
}

/** The lane of the scripted model: it answers in this process, at once. */
export function createDemoLane(): Lane {
  return async (attempt, sink) => {
    if (attempt.call.kind === 'count_tokens') return answerEstimate(attempt, sink)
    const message = spoken(attempt)
    return attempt.ask.stream ? stream(attempt, sink, message) : answer(attempt, sink, message)
  }
}

function spoken({ call, ask }: Attempt): SpokenMessage {
  const request = parsedObject(call.body)
  const { content, stopReason } = within(ask.maxTokens, demoTurn(request))
  const outputTokens = sizeOf(content)
  return {
    id: newId('msg'),
    type: 'message',
    role: 'assistant',
    model: ask.model,
    content,
    stop_reason: stopReason,
    stop_sequence: null,
    usage: fullUsage(estimateInputTokens(request), outputTokens),
  }
}

const sizeOf = (content: DemoTurn['content']): number => estimateTextTokens(JSON.stringify(content))

/** The turn, or as much of its text as the caller allows; half a tool call is of no use to anybody. */
function within(maxTokens: number, turn: DemoTurn): { content: DemoTurn['content']; stopReason: string } {
  if (sizeOf(turn.content) <= maxTokens) return turn
  const text = turn.content.map(block => (block.type === 'text' ? block.text : '')).join('')
  return { content: [{ type: 'text', text: text.slice(0, Math.max(1, maxTokens)) }], stopReason: 'max_tokens' }
}

function answer(attempt: Attempt, sink: Sink, message: SpokenMessage): Outcome {
  const body = Buffer.from(JSON.stringify(message))
  sink.head(200, {
    ...headersOf(attempt),
    'content-type': 'application/json',
    'content-length': String(body.length),
  })
  sink.end(body)
  return outcomeOf(attempt, message)
}

async function stream(attempt: Attempt, sink: Sink, message: SpokenMessage): Promise<Outcome> {
  const { signal } = attempt.call
  sink.head(200, { ...headersOf(attempt), 'content-type': 'text/event-stream; charset=utf-8', ...streamHeaders })
  for (const frame of messageFrames(message)) {
    if (signal.aborted) return { ...outcomeOf(attempt, message), outcome: 'aborted', stopReason: undefined }
    if (!sink.data(Buffer.from(frame))) await drained(sink, signal)
    // Each frame leaves in its own write, as those of a real model do.
    await nextTick()
  }
  sink.end()
  return outcomeOf(attempt, message)
}

function drained(sink: Sink, signal: Leaving): Promise<void> {
  return new Promise(resolve => {
    const done = () => {
      signal.removeEventListener('abort', done)
      resolve()
    }
    signal.addEventListener('abort', done, { once: true })
    sink.onDrain(done)
  })
}

const headersOf = ({ call, ownHeaders }: Attempt) => ({ 'request-id': call.requestId, ...ownHeaders })

const outcomeOf = ({ startedMs }: Attempt, { stop_reason, usage }: SpokenMessage): Outcome => ({
  outcome: 'completed',
  status: 200,
  stopReason: stop_reason,
  usage: withUsage({ ...noTokens, estimated: true }, usage),
  firstContentMs: performance.now() - startedMs,
})
