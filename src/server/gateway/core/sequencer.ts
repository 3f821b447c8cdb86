import { noTokens, type TokenCounts } from '../tokens/token-counts.ts'
import type { AnswerEvent, StopReason, UpstreamEvent, UsageUpdate } from './answer-event.ts'
import { BlockSequence } from './block-sequence.ts'

/** An estimate of the input tokens, which holds the request until it is made. */
export interface InputGuess {
  /** 1 or more. */
  tokens(): number
  /** Nobody will ask any more. */
  drop(): void
}

interface Options {
  /** Of the answer, when the upstream gives none. */
  readonly messageId: string
  /** The upstream's name of the model, when its answer gives none. */
  readonly model: string
  /** Used only when the upstream has not counted: it takes a while. */
  readonly guess: InputGuess
  /** Takes the events of the answer, in order. */
  readonly out: (event: AnswerEvent) => void
  /** Called when an illegal event was repaired. Tests throw here. */
  readonly onRepair: (what: string) => void
}

/** What the order is about; all else is reported outside of it. */
export type OrderedEvent = Exclude<UpstreamEvent, { readonly type: 'error' | 'degraded' | 'declined' }>

/** About what a token takes of text, for estimates of truncated streams. */
const charactersPerToken = 4

/**
 * The only code that owns the order of an answer: one start, one open block at a time, one end with the reason and the
 * usage. Source: Gateway, section 2.2.
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

  /** True once the end of the message is out. */
  get hasEnded(): boolean {
    return this.#hasEnded
  }

  /** Undefined until the message has ended. */
  get stopReason(): string | undefined {
    return this.#stopReason
  }

  /** With estimates, marked as such, for what the upstream has not stated. */
  get usage(): TokenCounts {
    if (!this.#hasStarted) return noTokens
    if (this.#hasInputCount && this.#hasOutputCount) return this.#counts
    const said = Math.ceil(this.#blocks.characters / charactersPerToken)
    return {
      ...this.#counts,
      input_tokens: this.#hasInputCount ? this.#counts.input_tokens : this.#options.guess.tokens(),
      output_tokens: this.#hasOutputCount ? this.#counts.output_tokens : said,
      estimated: true,
    }
  }

  #start({ id, model, usage }: { readonly id?: string; readonly model?: string; readonly usage?: UsageUpdate }): void {
    const { messageId, out, onRepair } = this.#options
    if (usage) this.#merge(usage)
    if (this.#hasStarted) {
      onRepair('a second message_start')
      return
    }
    this.#hasStarted = true
    out({
      type: 'message_start',
      id: id ?? messageId,
      model: model ?? this.#options.model,
      // Some upstreams state zero where they do not know yet; clients take that for a count.
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

  /** Clients run tools only when the stop reason says so, and some upstreams report a plain stop beside a call. */
  #finalReason(): StopReason {
    const said = this.#stop?.reason ?? 'end_turn'
    if (this.#blocks.hasTool) return said === 'end_turn' ? 'tool_use' : said
    if (said !== 'tool_use') return said
    this.#options.onRepair('a stop for a tool without any call')
    return 'end_turn'
  }
}
