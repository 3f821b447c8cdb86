import { jsonOr } from '../../platform/json.ts'
import { createFrameReader } from '../bytes/frame-reader.ts'
import { type AnswerHead, type AnswerReader, upstreamFault, type WholeAnswer } from '../upstream/exchange.ts'
import { scrubbedText } from '../upstream/scrub.ts'
import type { AnswerEvent, UpstreamEvent } from './answer-event.ts'
import type { Attempt, Refusal, Sink } from './call.ts'
import type { AnswerWriter } from './client-format.ts'
import type { Codec, CodecContext } from './codec.ts'
import type { Degradation } from './degradations.ts'
import type { Sequencer } from './sequencer.ts'
import { DeclineWatch, declinedProblem, refusalOf, TranslatedStream } from './translated-stream.ts'

interface Options {
  readonly codec: Codec
  readonly context: CodecContext
  readonly attempt: Attempt
  readonly sink: Sink
  readonly writer: AnswerWriter
  readonly createSequencer: (out: (event: AnswerEvent) => void) => Sequencer
  /** What the request lost; findings of the answer are added. */
  readonly degraded: Degradation[]
  readonly pingAfterMs: number
  readonly holdBackMs: number
}

/** Turns the answers of a codec's upstream into those of the client's format, streamed or whole. */
export function createTranslatedReader(options: Options): AnswerReader {
  const { codec, context, attempt, writer, degraded, createSequencer } = options
  const { deployment } = attempt.target
  const { stream } = attempt.ask

  const clean = (message: string): string => scrubbedText(message, deployment)

  const refused = (head: AnswerHead, problem: ReturnType<Codec['problem']>): Refusal =>
    refusalOf({
      head,
      degraded,
      write: writer.problem,
      problem: { ...problem, message: clean(problem.message), reason: problem.reason },
    })

  const unusable = (head: AnswerHead, fault: string): Refusal =>
    refused(head, { code: 'upstream_unreachable', message: upstreamFault(attempt, fault).message })

  /** Puts the events in order until one of them fails the answer; also what is only a refusal fails where another model may answer. */
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

  const whole = (head: AnswerHead, body: Buffer): WholeAnswer | Refusal => {
    const parsed = jsonOr(body.toString(), undefined)
    if (parsed === undefined) return unusable(head, 'sent an answer that is no JSON')
    let frames = ''
    const decline = new DeclineWatch()
    const said = () => (stream ? frames : writer.whole())
    const sequencer = createSequencer(event => {
      decline.take(event)
      frames += writer.take(event)
    })
    const problem = problemIn(codec.answer(parsed, context), sequencer, decline)
    if (problem === declinedProblem) return { ...refused(head, problem), usage: sequencer.usage }
    if (problem) return refused(head, problem)
    const answer = sequencer.hasEnded ? said() : undefined
    if (answer === undefined) return unusable(head, 'sent an answer that is not complete')
    return {
      headers: { ...head.headers, 'content-type': stream ? 'text/event-stream; charset=utf-8' : 'application/json' },
      body: Buffer.from(typeof answer === 'string' ? answer : JSON.stringify(answer)),
      counts: () => ({ usage: sequencer.usage, stopReason: sequencer.stopReason, degraded }),
    }
  }

  return {
    // Some upstreams answer in one piece though a stream was asked for; the client gets its stream all the same.
    isStream: headers => stream && !String(headers['content-type']).startsWith('application/json'),
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
