import type { Attempt, Outcome, Sink } from '../call.ts'
import type { AnswerReader } from '../upstream/exchange.ts'
import { streamHeaders } from '../upstream/headers.ts'
import { scrubbed } from '../upstream/scrub.ts'
import { usageOfAnswer } from './answer-usage.ts'
import { createStreamRelay } from './stream-relay.ts'

interface Options {
  readonly attempt: Attempt
  readonly sink: Sink
  readonly pingAfterMs: number
}

/** Passes an answer on as it came, and reads along for the ledger. */
export function createRawReader({ attempt, sink, pingAfterMs }: Options): AnswerReader {
  return {
    isStream: headers => String(headers['content-type']).startsWith('text/event-stream'),
    whole: ({ headers }, body) => ({ headers, body, counts: () => usageOfAnswer(body) }),
    refusal: (head, body) => ({ outcome: 'refused', ...head, body: scrubbed(body, attempt.target.deployment) }),
    stream({ status, headers }) {
      let firstContentMs: number | undefined
      sink.head(status, { ...headers, ...streamHeaders })
      const relay = createStreamRelay({
        sink,
        requestId: attempt.call.requestId,
        pingAfterMs,
        onFirstContent: () => {
          firstContentMs = performance.now() - attempt.startedMs
        },
      })
      const outcome = (how: Outcome['outcome']): Outcome => ({
        outcome: how,
        status,
        stopReason: relay.tap.stopReason,
        usage: relay.tap.usage,
        firstContentMs,
      })
      return {
        push(controller, chunk) {
          relay.push(controller, chunk)
          return undefined
        },
        finish: () => outcome(relay.finish() ? 'completed' : 'failed'),
        breakOff({ code, message }) {
          relay.breakOff(code, message)
          return outcome(relay.tap.end === 'stop' ? 'completed' : 'failed')
        },
        abandoned: () => outcome('aborted'),
        stop: relay.stop,
      }
    },
  }
}
