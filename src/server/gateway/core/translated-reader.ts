import { statusOfCode } from '../../../contract/errors.ts'
import { jsonOr } from '../../platform/json.ts'
import { createFrameReader } from '../bytes/frame-reader.ts'
import type { Encoder } from '../formats/anthropic/encoder.ts'
import { createMessageCollector } from '../formats/anthropic/message-collector.ts'
import { type WireEvent, wireFrame } from '../formats/anthropic/wire-event.ts'
import { type AnswerHead, type AnswerReader, upstreamFault, type WholeAnswer } from '../upstream/exchange.ts'
import { scrubbedText } from '../upstream/scrub.ts'
import type { UpstreamEvent } from './answer-event.ts'
import type { Attempt, Refusal, Sink } from './call.ts'
import type { Codec, CodecContext } from './codec.ts'
import type { Degradation } from './degradations.ts'
import { problemBody, refusalOf, TranslatedStream } from './translated-stream.ts'

interface Options {
  readonly codec: Codec
  readonly context: CodecContext
  readonly attempt: Attempt
  readonly sink: Sink
  readonly createEncoder: (out: (event: WireEvent) => void) => Encoder
  /** What the request lost; findings of the answer are added. */
  readonly degraded: Degradation[]
  readonly pingAfterMs: number
  readonly holdBackMs: number
}

/** Turns the answers of a codec's upstream into Anthropic's, streamed or whole. */
export function createTranslatedReader(options: Options): AnswerReader {
  const { codec, context, attempt, degraded, createEncoder } = options
  const { deployment } = attempt.target
  const { requestId } = attempt.call

  const clean = (message: string): string => scrubbedText(message, deployment)

  const refused = (head: AnswerHead, problem: ReturnType<Codec['problem']>): Refusal =>
    refusalOf({
      head,
      degraded,
      status: statusOfCode(problem.code),
      body: problemBody(problem.code, clean(problem.message), requestId),
      ...(problem.reason !== undefined && { reason: problem.reason }),
    })

  const unusable = (head: AnswerHead, fault: string): Refusal =>
    refused(head, { code: 'upstream_unreachable', message: upstreamFault(attempt, fault).message })

  const whole = (head: AnswerHead, body: Buffer): WholeAnswer | Refusal => {
    const parsed = jsonOr(body.toString(), undefined)
    if (parsed === undefined) return unusable(head, 'sent an answer that is no JSON')
    const collector = createMessageCollector()
    const frames: string[] = []
    const encoder = createEncoder(event => {
      collector.take(event)
      if (attempt.ask.stream) frames.push(wireFrame(event))
    })
    for (const event of countedFirst(codec.answer(parsed, context))) {
      if (event.type === 'error') return refused(head, event)
      if (event.type === 'degraded') degraded.push({ path: event.path, action: event.action })
      else encoder.push(event)
    }
    const message = collector.message()
    if (!message) return unusable(head, 'sent an answer that is not complete')
    const { stream } = attempt.ask
    return {
      headers: { ...head.headers, 'content-type': stream ? 'text/event-stream; charset=utf-8' : 'application/json' },
      body: Buffer.from(stream ? frames.join('') : JSON.stringify(message)),
      counts: () => ({ usage: encoder.usage, stopReason: encoder.stopReason, degraded }),
    }
  }

  return {
    // Some upstreams answer in one piece though a stream was asked for; the client gets its stream all the same.
    isStream: headers => attempt.ask.stream && !String(headers['content-type']).startsWith('application/json'),
    whole,
    refusal: (head, body) => refused(head, codec.problem(head.status, jsonOr(body.toString(), body.toString()))),
    stream: head =>
      new TranslatedStream({
        ...options,
        head,
        clean,
        frames: createFrameReader(codec.framing),
        decoder: codec.decoder(context),
      }),
  }
}

/** Counts before all else: with them known, nobody has to guess the input for the start of the message. */
const countedFirst = (events: readonly UpstreamEvent[]): readonly UpstreamEvent[] => [
  ...events.filter(({ type }) => type === 'usage'),
  ...events.filter(({ type }) => type !== 'usage'),
]
