import { setImmediate as nextTick } from 'node:timers/promises'
import type { Deployment } from '../../config/config.ts'
import { newId } from '../../platform/ids.ts'
import { type Attempt, drained, type Lane, type Outcome, type Sink } from '../core/call.ts'
import { type AnswerWriter, type ClientFormat, clientContext } from '../core/client-format.ts'
import type { CanonicalRequest } from '../core/codec.ts'
import { withDegradedHeader } from '../core/degradations.ts'
import { parsedObject } from '../core/request-checks.ts'
import { estimateInputTokens, estimateTextTokens } from '../tokens/estimate.ts'
import { noTokens } from '../tokens/token-counts.ts'
import { streamHeaders } from '../upstream/headers.ts'
import { type DemoTurn, demoTurn } from './demo-script.ts'
import { messageEvents, type SpokenMessage } from './message-events.ts'

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
export function createDemoLane(client: ClientFormat): Lane {
  return async (attempt, sink) => {
    const { body, writer, degraded } = client(parsedObject(attempt.call.body), clientContext(attempt))
    const message = spoken(body, attempt.ask.model)
    const answer = { message, writer, attempt: withDegradedHeader(attempt, degraded), sink }
    const outcome = attempt.ask.stream ? await stream(answer) : whole(answer)
    return degraded.length === 0 ? outcome : { ...outcome, degraded }
  }
}

interface Answer {
  readonly message: SpokenMessage
  readonly writer: AnswerWriter
  readonly attempt: Attempt
  readonly sink: Sink
}

function spoken(request: CanonicalRequest, model: string): SpokenMessage {
  const { content, stopReason } = within(Number(request['max_tokens'] ?? Number.POSITIVE_INFINITY), demoTurn(request))
  return {
    id: newId('msg'),
    model,
    content,
    stopReason,
    usage: {
      ...noTokens,
      input_tokens: estimateInputTokens(request),
      output_tokens: sizeOf(content),
      estimated: true,
    },
  }
}

const sizeOf = (content: DemoTurn['content']): number => estimateTextTokens(JSON.stringify(content))

/** The turn, or as much of its text as the caller allows; half a tool call is of no use to anybody. */
function within(maxTokens: number, turn: DemoTurn): Pick<SpokenMessage, 'content' | 'stopReason'> {
  if (sizeOf(turn.content) <= maxTokens) return turn
  const text = turn.content.map(block => (block.type === 'text' ? block.text : '')).join('')
  return { content: [{ type: 'text', text: text.slice(0, Math.max(1, maxTokens)) }], stopReason: 'max_tokens' }
}

function whole({ message, writer, attempt, sink }: Answer): Outcome {
  for (const event of messageEvents(message)) writer.take(event)
  const body = Buffer.from(JSON.stringify(writer.whole()))
  sink.head(200, {
    ...headersOf(attempt),
    'content-type': 'application/json',
    'content-length': String(body.length),
  })
  sink.end(body)
  return outcomeOf(attempt, message)
}

async function stream({ message, writer, attempt, sink }: Answer): Promise<Outcome> {
  const { signal } = attempt.call
  sink.head(200, { ...headersOf(attempt), 'content-type': 'text/event-stream; charset=utf-8', ...streamHeaders })
  for (const event of messageEvents(message)) {
    if (signal.aborted) return { ...outcomeOf(attempt, message), outcome: 'aborted', stopReason: undefined }
    const frames = writer.take(event)
    if (frames === '') continue
    if (!sink.data(Buffer.from(frames))) await drained(sink, signal)
    // Each frame leaves in its own write, as those of a real model do.
    await nextTick()
  }
  sink.end()
  return outcomeOf(attempt, message)
}

const headersOf = ({ call, ownHeaders }: Attempt) => ({ 'request-id': call.requestId, ...ownHeaders })

const outcomeOf = ({ startedMs }: Attempt, { stopReason, usage }: SpokenMessage): Outcome => ({
  outcome: 'completed',
  status: 200,
  stopReason,
  usage,
  firstContentMs: performance.now() - startedMs,
})
