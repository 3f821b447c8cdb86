import { jsonOr } from '../../platform/json.ts'
import { exactInputsOr } from '../bytes/exact-numbers.ts'
import { createFrameReader } from '../bytes/frame-reader.ts'
import { type AnswerHead, type AnswerReader, upstreamFault, type WholeAnswer } from '../upstream/exchange.ts'
import { scrubbedText } from '../upstream/scrub.ts'
import type { AnswerEvent, UpstreamEvent } from './answer-event.ts'
import type { Attempt, Sink, UpstreamError } from './call.ts'
import type { AnswerWriter } from './client-format.ts'
import type { Codec, CodecContext } from './codec.ts'
import type { Degradation } from './degradations.ts'
import type { Sequencer } from './sequencer.ts'
import { DeclineWatch, declinedProblem, TranslatedStream, upstreamErrorOf } from './translated-stream.ts'

interface Options {
  readonly codec: Codec
  readonly context: CodecContext
  readonly attempt: Attempt
  readonly sink: Sink
  readonly writer: AnswerWriter
  readonly createSequencer: (out: (event: AnswerEvent) => void) => Sequencer
  /** Degradations of the request; those of the answer are added. */
  readonly degraded: Degradation[]
  readonly pingAfterMs: number
  readonly bufferMs: number
}

/** Creates the reader that translates answers to the client's format, streamed or whole. */
export function createTranslatedReader(options: Options): AnswerReader {
  const { codec, context, attempt, writer, degraded, createSequencer } = options
  const { deployment } = attempt.target
  const { stream } = attempt.parsed

  const clean = (message: string): string => scrubbedText(message, deployment)

  const errorOf = (head: AnswerHead, problem: ReturnType<Codec['problem']>): UpstreamError =>
    upstreamErrorOf({
      head,
      degraded,
      write: writer.problem,
      problem: { ...problem, message: clean(problem.message), reason: problem.reason },
    })

  const unusable = (head: AnswerHead, fault: string): UpstreamError =>
    errorOf(head, { code: 'upstream_unreachable', message: upstreamFault(attempt, fault).message })

  /**
   * Passes events to the sequencer. Returns the first error; also an error for an answer that only declines, where a
   * fallback may answer.
   */
  const problemIn = (events: readonly UpstreamEvent[], sequencer: Sequencer, decline: DeclineWatch) => {
    for (const event of countedFirst(events)) {
      if (event.type === 'error') return event
      if (event.type === 'degraded') degraded.push({ path: event.path, action: event.action })
      else if (event.type === 'declined') decline.declined()
      else sequencer.push(event)
    }
    const isDeclined = sequencer.stopReason === 'refusal' && !decline.hasAnswered
    return isDeclined && attempt.hasPolicyFallback ? declinedProblem : undefined
  }

  const whole = (head: AnswerHead, body: Buffer): WholeAnswer | UpstreamError => {
    const parsed = exactInputsOr(body.toString(), undefined)
    if (parsed === undefined) return unusable(head, 'returned a response that is not valid JSON')
    let frames = ''
    const decline = new DeclineWatch()
    const text = () => (stream ? frames : writer.whole())
    const sequencer = createSequencer(event => {
      decline.take(event)
      frames += writer.take(event)
    })
    const problem = problemIn(codec.answer(parsed, context), sequencer, decline)
    if (problem === declinedProblem) return { ...errorOf(head, problem), usage: sequencer.usage }
    if (problem) return errorOf(head, problem)
    const answer = sequencer.hasEnded ? text() : undefined
    if (answer === undefined) return unusable(head, 'sent an incomplete answer')
    return {
      headers: { ...head.headers, 'content-type': stream ? 'text/event-stream; charset=utf-8' : 'application/json' },
      body: Buffer.from(typeof answer === 'string' ? answer : JSON.stringify(answer)),
      counts: () => ({ usage: sequencer.usage, stopReason: sequencer.stopReason, degraded }),
    }
  }

  return {
    // Some upstreams answer a streamed call in one piece; the client gets a stream in any case.
    isStream: headers => stream && !String(headers['content-type']).startsWith('application/json'),
    whole,
    upstreamError: (head, body) => errorOf(head, codec.problem(head.status, jsonOr(body.toString(), body.toString()))),
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

/** Returns the events with the usage first, so that the start of the message has counts instead of an estimate. */
const countedFirst = (events: readonly UpstreamEvent[]): readonly UpstreamEvent[] => [
  ...events.filter(({ type }) => type === 'usage'),
  ...events.filter(({ type }) => type !== 'usage'),
]
