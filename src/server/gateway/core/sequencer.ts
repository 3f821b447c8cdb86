import { noTokens, type TokenCounts } from '../tokens/token-counts.ts'
import type { AnswerEvent, StopReason, UpstreamEvent, UsageUpdate } from './answer-event.ts'
import { BlockSequence } from './block-sequence.ts'

/** Lazy estimate of the input tokens. Retains the request until it is made or dropped. */
export interface InputGuess {
  /** Returns the estimate, 1 or more. */
  tokens(): number
  /** Releases the request. */
  drop(): void
}

interface Options {
  /** Id of the answer, when the upstream states none. */
  readonly messageId: string
  /** The upstream's name of the model, when its answer states none. */
  readonly model: string
  /** Used only when the upstream has not stated the count, since it takes time. */
  readonly guess: InputGuess
  /** Receives the events of the answer, in order. */
  readonly out: (event: AnswerEvent) => void
  /** Called when an invalid event was repaired. Tests throw here. */
  readonly onRepair: (what: string) => void
}

/** Events that the sequencer orders; the others are reported separately. */
export type OrderedEvent = Exclude<UpstreamEvent, { readonly type: 'error' | 'degraded' | 'declined' }>

/** Approximate characters per token, for estimates of truncated streams. */
const charactersPerToken = 4

/**
 * Orders the events of an answer: one start, one open block at a time, one end with reason and usage. The only code
 * that decides on the order. Source: Gateway, section 2.2.
 */
export class Sequencer {
  readonly #options: Options
  readonly #blocks: BlockSequence
  #hasStarted = false
  #hasEnded = false
  #counts: TokenCounts = noTokens
  #hasInputCount = false
  #hasOutputCount = false
  #stop: { readonly reason: StopReason; readonly sequence?: string } | undefined
  #stopReason: string | undefined

  constructor(options: Options) {
    this.#options = options
    this.#blocks = new BlockSequence(options)
  }

  push(event: OrderedEvent): void {
    if (this.#hasEnded) {
      this.#options.onRepair(`${event.type} after the end`)
      return
    }
    switch (event.type) {
      case 'message_start':
        this.#start(event)
        break
      case 'block_start':
        if (!this.#hasStarted) this.#start({})
        this.#blocks.start(event.key, event.block)
        break
      case 'block_delta':
        this.#blocks.delta(event)
        break
      case 'block_signature':
        this.#blocks.signature(event)
        break
      case 'block_citation':
        this.#blocks.citation(event)
        break
      case 'block_stop':
        this.#blocks.stop(event.key)
        break
      case 'usage':
        this.#merge(event.usage)
        break
      case 'stop':
        this.#stop = event
        break
      case 'message_stop':
        this.#end()
    }
  }

  /** True once the end of the message was emitted. */
  get hasEnded(): boolean {
    return this.#hasEnded
  }

  /** Undefined until the message has ended. */
  get stopReason(): string | undefined {
    return this.#stopReason
  }

  /** Usage so far, with estimates, marked as such, for counts that the upstream has not stated. */
  get usage(): TokenCounts {
    if (!this.#hasStarted) return noTokens
    if (this.#hasInputCount && this.#hasOutputCount) return this.#counts
    const estimate = Math.ceil(this.#blocks.characters / charactersPerToken)
    return {
      ...this.#counts,
      input_tokens: this.#hasInputCount ? this.#counts.input_tokens : this.#options.guess.tokens(),
      output_tokens: this.#hasOutputCount ? this.#counts.output_tokens : estimate,
      estimated: true,
    }
  }

  #start({ id, model, usage }: { readonly id?: string; readonly model?: string; readonly usage?: UsageUpdate }): void {
    const { messageId, out, onRepair } = this.#options
    if (usage) this.#merge(usage)
    if (this.#hasStarted) {
      onRepair('second message_start')
      return
    }
    this.#hasStarted = true
    out({
      type: 'message_start',
      id: id ?? messageId,
      model: model ?? this.#options.model,
      // Some upstreams state zero for a count that they do not know yet; clients would take it for a count.
      usage: { ...this.#counts, input_tokens: this.#counts.input_tokens || this.#options.guess.tokens() },
    })
    this.#options.guess.drop()
  }

  #merge(update: UsageUpdate): void {
    this.#counts = { ...this.#counts, ...update }
    this.#hasInputCount ||= update.input_tokens !== undefined
    this.#hasOutputCount ||= update.output_tokens !== undefined
  }

  #end(): void {
    if (!this.#hasStarted) this.#start({})
    this.#blocks.close()
    this.#hasEnded = true
    const reason = this.#finalReason()
    this.#stopReason = reason
    const sequence = reason === 'stop_sequence' ? (this.#stop?.sequence ?? null) : null
    this.#options.out({ type: 'message_stop', reason, sequence, usage: this.usage })
  }

  /**
   * Returns the reason for the client: `tool_use` after a tool call, since some upstreams report a plain stop, and
   * clients would not run the tool.
   */
  #finalReason(): StopReason {
    const stated = this.#stop?.reason ?? 'end_turn'
    if (this.#blocks.hasTool) return stated === 'end_turn' ? 'tool_use' : stated
    if (stated !== 'tool_use') return stated
    this.#options.onRepair('stop reason tool_use without a tool call')
    return 'end_turn'
  }
}
