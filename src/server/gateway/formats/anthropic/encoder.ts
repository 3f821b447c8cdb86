import type { StopReason, UpstreamEvent, UsageUpdate } from '../../core/answer-event.ts'
import { noTokens, type TokenCounts } from '../../tokens/token-counts.ts'
import { BlockSequence } from './block-sequence.ts'
import { type WireEvent, wireUsage } from './wire-event.ts'

interface Options {
  /** Of the answer, when the upstream gives none. */
  readonly messageId: string
  /** The upstream's name of the model, when its answer gives none. */
  readonly model: string
  /** Makes a guess at the input tokens, 1 or more. Asked only when the upstream has not counted: it takes a while. */
  readonly guessInputTokens: () => number
  /** Takes the events of the answer, in order. */
  readonly out: (event: WireEvent) => void
  /** Called when an illegal event was mended. Tests throw here. */
  readonly onRepair: (what: string) => void
}

/** What the grammar is about; errors and degradations are told outside of it. */
export type GrammarEvent = Exclude<UpstreamEvent, { readonly type: 'error' | 'degraded' }>

/** About what a token takes of text, for guesses at broken streams. */
const charactersPerToken = 4

/**
 * The only code that owns Anthropic's event grammar: one `message_start`, one open block at a time, indices without
 * gaps, one end with the reason and the usage. Source: Gateway, section 2.2.
 */
export class Encoder {
  readonly #options: Options
  readonly #blocks: BlockSequence
  #hasStarted = false
  #hasEnded = false
  #counts: TokenCounts = noTokens
  #guessed: number | undefined
  #hasInputCount = false
  #hasOutputCount = false
  #stop: { readonly reason: StopReason; readonly sequence?: string } | undefined
  #stopReason: string | undefined

  constructor(options: Options) {
    this.#options = options
    this.#blocks = new BlockSequence(options)
  }

  push(event: GrammarEvent): void {
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
        this.#blocks.delta(event.key, event.text)
        break
      case 'block_signature':
        this.#blocks.signature(event.key, event.signature)
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

  /** True once the message has its end on the wire. */
  get hasEnded(): boolean {
    return this.#hasEnded
  }

  /** Undefined until the message has ended. */
  get stopReason(): string | undefined {
    return this.#stopReason
  }

  /** With guesses, marked as such, for what the upstream has not stated. */
  get usage(): TokenCounts {
    if (!this.#hasStarted) return noTokens
    if (this.#hasInputCount && this.#hasOutputCount) return this.#counts
    const said = Math.ceil(this.#blocks.characters / charactersPerToken)
    return {
      ...this.#counts,
      input_tokens: this.#hasInputCount ? this.#counts.input_tokens : this.#guess(),
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
    // Some upstreams state zero where they do not know yet; clients take that for a count.
    const shown = { ...this.#counts, input_tokens: this.#counts.input_tokens || this.#guess() }
    out({
      type: 'message_start',
      message: {
        id: id ?? messageId,
        type: 'message',
        role: 'assistant',
        model: model ?? this.#options.model,
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: wireUsage(shown),
      },
    })
  }

  #guess(): number {
    this.#guessed ??= this.#options.guessInputTokens()
    return this.#guessed
  }

  #merge(update: UsageUpdate): void {
    this.#counts = { ...this.#counts, ...update }
    this.#hasInputCount ||= update.input_tokens !== undefined
    this.#hasOutputCount ||= update.output_tokens !== undefined
  }

  #end(): void {
    const { out } = this.#options
    if (!this.#hasStarted) this.#start({})
    this.#blocks.close()
    this.#hasEnded = true
    const reason = this.#finalReason()
    this.#stopReason = reason
    const sequence = reason === 'stop_sequence' ? (this.#stop?.sequence ?? null) : null
    out({
      type: 'message_delta',
      delta: { stop_reason: reason, stop_sequence: sequence },
      usage: wireUsage(this.usage),
    })
    out({ type: 'message_stop' })
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
