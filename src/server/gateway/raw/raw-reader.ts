import type { Attempt, Sink } from '../call.ts'
import type { Degradation } from '../translated/degradations.ts'
import type { AnswerReader } from '../upstream/exchange.ts'
import { errorInAnswer, isWholeJson } from './answer-checks.ts'
import { counted } from './counted.ts'
import { createRawRefusals } from './raw-refusals.ts'
import { RawStream } from './raw-stream.ts'
import type { Wire } from './wire.ts'

interface Options {
  readonly wire: Wire
  readonly attempt: Attempt
  readonly sink: Sink
  /** What the request lost. */
  readonly degraded: readonly Degradation[]
  readonly pingAfterMs: number
  readonly holdBackMs: number
}

/** Passes an answer on as it came, and reads along for the ledger. */
export function createRawReader(options: Options): AnswerReader {
  const { wire, attempt, degraded } = options
  const refusals = createRawRefusals(options)
  const isCount = attempt.call.kind === 'count_tokens'

  return {
    isStream({ 'content-type': given }) {
      const type = String(given ?? '').toLowerCase()
      if (type.startsWith(wire.streamType ?? 'text/event-stream')) return true
      // Some servers name a stream wrongly. What is none in truth ends in the hold-back window.
      return wire.streamType === undefined && attempt.ask.stream && !/json|html/.test(type)
    },
    stream: head => new RawStream({ ...options, head, refusals }),
    whole(head, body) {
      const error = errorInAnswer(body)
      if (error) return refusals.failedEarly(head, error)
      if (attempt.ask.stream) return refusals.unreadable(head, 'answered a streamed call with no stream')
      if (!isWholeJson(body)) return refusals.unreadable(head, 'sent an answer that is no JSON')
      return {
        headers: head.headers,
        body: (isCount && wire.translateCount?.(body)) || body,
        counts: () => ({
          ...counted(wire, attempt, wire.readAnswer(body)),
          ...(degraded.length > 0 && { degraded }),
        }),
      }
    },
    refusal: refusals.passedOn,
  }
}
