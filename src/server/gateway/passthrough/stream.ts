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
import type { ClientError, PassthroughFormat } from './passthrough-format.ts'
import { counted } from './passthrough-format.ts'
import { StreamRelay } from './stream-relay.ts'
import type { UpstreamErrors } from './upstream-errors.ts'

interface Options {
  readonly format: PassthroughFormat
  readonly attempt: Attempt
  readonly sink: Sink
  readonly head: AnswerHead
  readonly upstreamErrors: UpstreamErrors
  /** What was removed from the request. */
  readonly degraded: readonly Degradation[]
  readonly pingAfterMs: number
  readonly bufferMs: number
}

/**
 * Relays one stream and returns how it ended. Before content an error is returned; after it, it is sent in the stream.
 */
export class PassthroughStream implements AnswerStream {
  readonly #options: Options
  readonly #relay: StreamRelay
  #firstContentMs: number | undefined

  constructor(options: Options) {
    this.#options = options
    const { sink, head, format, attempt } = options
    this.#relay = new StreamRelay({
      ...options,
      buffersDeclined: attempt.hasPolicyFallback === true,
      scrub: bytes => scrubbed(bytes, attempt.target.deployment),
      open: () => sink.head(head.status, { ...typed(head, format), ...streamHeaders }),
      onFirstContent: () => {
        this.#firstContentMs = performance.now() - attempt.startedMs
      },
    })
  }

  push(controller: Controller, chunk: Buffer): Ending | undefined {
    const { upstreamErrors, head } = this.#options
    try {
      return this.#relay.push(controller, chunk) ? undefined : upstreamErrors.earlyFailure(head, this.#relay.tap.fault)
    } catch {
      // Only AWS framing throws, for wrong lengths and checksums.
      return this.#relay.isOpen ? this.#failStream(unreadable) : upstreamErrors.unusable(head, unreadable)
    }
  }

  finish(): Ending | undefined {
    const { upstreamErrors, head, format, attempt } = this.#options
    const end = this.#relay.finish()
    switch (end) {
      case 'complete':
        return this.#outcome('completed')
      case 'failed':
        return this.#outcome('failed')
      case 'truncated':
        return this.#relay.isOpen ? this.#failStream('ended the stream before the response was complete') : undefined
      case 'failed_early':
        return upstreamErrors.earlyFailure(head, this.#relay.tap.fault)
      case 'declined':
        return upstreamErrors.declined(head, counted(format, attempt, this.#relay.tap).usage)
    }
  }

  interrupt({ code, message }: Pick<ClientError, 'code' | 'message'>): Ending | undefined {
    if (!this.#relay.isOpen) return undefined
    this.#relay.interrupt({ code, message, requestId: this.#options.attempt.call.requestId })
    return this.#outcome(this.#relay.tap.end === 'stop' ? 'completed' : 'failed')
  }

  disconnected(rest: readonly Buffer[]): Outcome {
    this.#relay.readUsage(rest)
    return this.#outcome('aborted')
  }

  stop(): void {
    this.#relay.stop()
  }

  /** Sends the error in the stream. `fault` completes the sentence "the upstream of model X ...". */
  #failStream(fault: string): Outcome {
    const { attempt } = this.#options
    const { message } = upstreamFault(attempt, fault)
    this.#relay.interrupt({ code: 'upstream_unreachable', message, requestId: attempt.call.requestId })
    return this.#outcome('failed')
  }

  #outcome(outcome: Outcome['outcome']): Outcome {
    const { format, attempt, head, degraded } = this.#options
    const counts = counted(format, attempt, this.#relay.tap)
    const isHidden = counts.usage.estimated && format.hidesThinking?.(attempt.target) === true
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

const unreadable = 'sent bytes that are not an event stream'

/** Returns the headers with the content type of server-sent events, whatever type the upstream states. */
const typed = (
  { headers }: AnswerHead,
  { streamType, keepsFraming }: PassthroughFormat,
): Readonly<Record<string, string>> =>
  keepsFraming || (streamType === undefined && headers['content-type']?.startsWith('text/event-stream'))
    ? headers
    : { ...headers, 'content-type': 'text/event-stream; charset=utf-8' }
