import { setImmediate as nextTick } from 'node:timers/promises'
import type { Deployment } from '../../config/deployments.ts'
import { newId } from '../../platform/ids.ts'
import { type Attempt, drained, type FormatAdapter, type Outcome, type Sink } from '../core/call.ts'
import { type AnswerWriter, type ClientFormat, clientContext } from '../core/client-format.ts'
import type { CanonicalRequest } from '../core/codec.ts'
import { withDegradedHeader } from '../core/degradations.ts'
import { parsedObject } from '../core/request-checks.ts'
import { estimateInputTokens, estimateTextTokens } from '../tokens/estimate.ts'
import { noTokens } from '../tokens/token-counts.ts'
import { streamHeaders } from '../upstream/headers.ts'
import { type DemoTurn, demoTurn } from './demo-script.ts'
import { messageEvents, type ScriptedMessage } from './message-events.ts'

/** Longest answer in tokens, so that a limited key needs no max_tokens for this model either. */
const maxOutput = 128_000

/** The scripted model as a deployment, which is resolved, called and booked like any other. */
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
  capabilities: { maxOutput },
}

/** Creates the adapter of the scripted model, which answers in this process. */
export function createDemoAdapter(client: ClientFormat): FormatAdapter {
  return async (attempt, sink) => {
    const { body, writer, degraded } = client(parsedObject(attempt.call.body), clientContext(attempt))
    const message = scriptedMessage(body, attempt.parsed.model)
    const answer = { message, writer, attempt: withDegradedHeader(attempt, degraded), sink }
    const outcome = attempt.parsed.stream ? await stream(answer) : whole(answer)
    return degraded.length === 0 ? outcome : { ...outcome, degraded }
  }
}

interface Answer {
  readonly message: ScriptedMessage
  readonly writer: AnswerWriter
  readonly attempt: Attempt
  readonly sink: Sink
}

function scriptedMessage(request: CanonicalRequest, model: string): ScriptedMessage {
  const { content, stopReason } = within(Number(request['max_tokens'] ?? maxOutput), demoTurn(request))
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

/** Returns the turn; when it exceeds `maxTokens` only the start of its text, without a partial tool call. */
function within(maxTokens: number, turn: DemoTurn): Pick<ScriptedMessage, 'content' | 'stopReason'> {
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
    // Each frame is a separate write, as with a real model.
    await nextTick()
  }
  sink.end()
  return outcomeOf(attempt, message)
}

const headersOf = ({ call, ownHeaders }: Attempt) => ({ 'request-id': call.requestId, ...ownHeaders })

const outcomeOf = ({ startedMs }: Attempt, { stopReason, usage }: ScriptedMessage): Outcome => ({
  outcome: 'completed',
  status: 200,
  stopReason,
  usage,
  firstContentMs: performance.now() - startedMs,
})
