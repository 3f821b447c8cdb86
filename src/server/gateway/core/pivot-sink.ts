import { statusOfCode } from '../../../contract/errors.ts'
import { createBodyReader, createStreamReader, type PivotReader } from '../formats/anthropic/read-answer.ts'
import { streamHeaders } from '../upstream/headers.ts'
import type { AnswerEvent } from './answer-event.ts'
import type { Sink } from './call.ts'
import type { AnswerWriter } from './client-format.ts'
import type { Degradation } from './degradations.ts'
import { mergedDegradedHeader } from './degradations.ts'

type Headers = Readonly<Record<string, string>>

interface Options {
  readonly sink: Sink
  readonly writer: AnswerWriter
  /** What the client asked for; the answer may come in either form. */
  readonly stream: boolean
  /** What the conversion of the request could not carry. */
  readonly degraded: readonly Degradation[]
}

/** A sink for an answer in Anthropic's format that sends it on to `sink` in the client's own. */
export function createPivotSink({ sink, writer, stream, degraded }: Options): Sink {
  let reader: PivotReader | undefined
  let status = 200
  let headers: Headers = {}
  let failure: Extract<AnswerEvent, { type: 'error' }> | undefined

  const said = (events: readonly AnswerEvent[] = []): string => {
    let frames = ''
    for (const event of events) {
      if (event.type === 'error') failure = event
      frames += writer.take(event)
    }
    return frames
  }

  const sendWhole = (): void => {
    const body = failure ? writer.problem(failure.code, failure.message) : writer.whole()
    const bytes = Buffer.from(JSON.stringify(body))
    sink.head(failure ? statusOfCode(failure.code) : status, {
      ...headers,
      'content-type': 'application/json',
      'content-length': String(bytes.length),
      ...(failure && { 'x-switchyard-error-source': 'upstream' }),
    })
    sink.end(bytes)
  }

  return {
    head(answered, given) {
      reader = String(given['content-type']).startsWith('text/event-stream') ? createStreamReader() : createBodyReader()
      status = answered
      headers = withDegraded(given, degraded)
      if (stream)
        sink.head(status, { ...headers, 'content-type': 'text/event-stream; charset=utf-8', ...streamHeaders })
    },
    data(chunk) {
      const frames = said(reader?.push(chunk))
      return frames === '' || !stream || sink.data(Buffer.from(frames))
    },
    onDrain: resume => sink.onDrain(resume),
    end(chunk) {
      const first = chunk === undefined ? '' : said(reader?.push(chunk))
      const frames = first + said(reader?.end())
      if (!stream) sendWhole()
      else if (frames === '') sink.end()
      else sink.end(Buffer.from(frames))
    },
  }
}

/** `headers` of an answer whose body is about to change, with what was degraded among them. */
export function withDegraded(headers: Headers, degraded: readonly Degradation[]): Headers {
  const { 'content-length': _length, 'x-switchyard-degraded': inner, ...rest } = headers
  const merged = mergedDegradedHeader(degraded, inner)
  return merged === undefined ? rest : { ...rest, 'x-switchyard-degraded': merged }
}
