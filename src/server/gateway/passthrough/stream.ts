import type { Attempt, Outcome, Sink } from '../core/call.ts'
import type { Degradation } from '../core/degradations.ts'
import {
  type AnswerHead,
  type AnswerStream,
  type Controller,
  type Ending,
  upstreamFault,
} from '../upstream/exchange.ts'
import { streamHeaders } from '../upstream/headers.ts'
import { scrubbed } from '../upstream/scrub.ts'
import type { RawRefusals } from './refusals.ts'
import { StreamRelay } from './stream-relay.ts'
import type { Wire, WireFailure } from './wire.ts'
import { counted } from './wire.ts'

interface Options {
  readonly wire: Wire
  readonly attempt: Attempt
  readonly sink: Sink
  readonly head: AnswerHead
  readonly refusals: RawRefusals
  /** What the request lost. */
  readonly degraded: readonly Degradation[]
  readonly pingAfterMs: number
  readonly holdBackMs: number
}

/** Relays one stream and says how it ended. Before content that is a refusal, after it the client has been told. */
export class RawStream implements AnswerStream {
  readonly #options: Options
  readonly #relay: StreamRelay
  #firstContentMs: number | undefined

  constructor(options: Options) {
    this.#options = options
    const { sink, head, wire, attempt } = options
    this.#relay = new StreamRelay({
      ...options,
      holdsRefusals: attempt.hasPolicyFallback === true,
      scrub: bytes => scrubbed(bytes, attempt.target.deployment),
      open: () => sink.head(head.status, { ...typed(head, wire), ...streamHeaders }),
      onFirstContent: () => {
        this.#firstContentMs = performance.now() - attempt.startedMs
      },
    })
  }

  push(controller: Controller, chunk: Buffer): Ending | undefined {
    const { refusals, head } = this.#options
    try {
      return this.#relay.push(controller, chunk) ? undefined : refusals.failedEarly(head, this.#relay.tap.fault)
    } catch {
      // Only the upstream's own framing throws, for lengths and check sums that are wrong.
      return this.#relay.isOpen ? this.#tell(unreadable) : refusals.unreadable(head, unreadable)
    }
  }

  finish(): Ending | undefined {
    const { refusals, head, wire, attempt } = this.#options
    const end = this.#relay.finish()
    switch (end) {
      case 'whole':
        return this.#outcome('completed')
      case 'failed':
        return this.#outcome('failed')
      case 'cut':
        return this.#relay.isOpen ? this.#tell('ended the stream before the answer was complete') : undefined
      case 'refused':
        return refusals.failedEarly(head, this.#relay.tap.fault)
      case 'declined':
        return refusals.declined(head, counted(wire, attempt, this.#relay.tap).usage)
    }
  }

  breakOff({ code, message }: Pick<WireFailure, 'code' | 'message'>): Ending | undefined {
    if (!this.#relay.isOpen) return undefined
    this.#relay.breakOff({ code, message, requestId: this.#options.attempt.call.requestId })
    return this.#outcome(this.#relay.tap.end === 'stop' ? 'completed' : 'failed')
  }

  abandoned(rest: readonly Buffer[]): Outcome {
    this.#relay.readOn(rest)
    return this.#outcome('aborted')
  }

  stop(): void {
    this.#relay.stop()
  }

  #tell(fault: string): Outcome {
    const { attempt } = this.#options
    const { message } = upstreamFault(attempt, fault)
    this.#relay.breakOff({ code: 'upstream_unreachable', message, requestId: attempt.call.requestId })
    return this.#outcome('failed')
  }

  #outcome(outcome: Outcome['outcome']): Outcome {
    const { wire, attempt, head, degraded } = this.#options
    const counts = counted(wire, attempt, this.#relay.tap)
    const isHidden = counts.usage.estimated && wire.hidesThinking?.(attempt.target) === true
    return {
      outcome,
      status: this.#relay.isOpen ? head.status : undefined,
      ...counts,
      firstContentMs: this.#firstContentMs,
      ...(isHidden && this.#firstContentMs !== undefined && { unstatedMs: this.#firstContentMs }),
      ...(degraded.length > 0 && { degraded }),
    }
  }
}

const unreadable = 'sent bytes that are no event stream'

/** Whatever the upstream calls its stream, the client gets server-sent events. */
const typed = ({ headers }: AnswerHead, { streamType, keepsFraming }: Wire): Readonly<Record<string, string>> =>
  keepsFraming || (streamType === undefined && headers['content-type']?.startsWith('text/event-stream'))
    ? headers
    : { ...headers, 'content-type': 'text/event-stream; charset=utf-8' }
