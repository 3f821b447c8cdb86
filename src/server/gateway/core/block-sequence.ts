import type { AnswerEvent, BlockStart, UpstreamEvent } from './answer-event.ts'

interface Options {
  readonly out: (event: AnswerEvent) => void
  readonly onRepair: (what: string) => void
}

type Delta = Extract<UpstreamEvent, { readonly type: 'block_delta' }>
type Signature = Extract<UpstreamEvent, { readonly type: 'block_signature' }>
type Cited = Extract<UpstreamEvent, { readonly type: 'block_citation' }>

/** Event inside a block. */
type BlockEvent = Delta | Signature | Cited

interface Block {
  readonly key: string
  readonly start: BlockStart
  /** Events buffered until the block is current; neighbours are joined where that is possible. */
  buffered: BlockEvent[]
  isStopped: boolean
  hasDelta: boolean
  /** The block that started after this one. */
  next: Block | undefined
}

/**
 * Orders blocks that an upstream may send in parallel. The oldest incomplete block is current and is emitted; events of
 * the others are buffered.
 */
export class BlockSequence {
  readonly #out: Options['out']
  readonly #onRepair: Options['onRepair']
  readonly #open = new Map<string, Block>()
  /** The oldest open block. */
  #current: Block | undefined
  /** The newest open block. */
  #last: Block | undefined
  #hasTool = false
  #characters = 0

  constructor({ out, onRepair }: Options) {
    this.#out = out
    this.#onRepair = onRepair
  }

  /** True once a tool call was sent. */
  get hasTool(): boolean {
    return this.#hasTool
  }

  /** Length of text, thinking and tool input so far. */
  get characters(): number {
    return this.#characters
  }

  start(key: string, start: BlockStart): void {
    if (this.#open.has(key)) {
      this.#onRepair(`second start of block ${key}`)
      return
    }
    // Text and thinking end where another block starts; the input of a tool call may continue in parallel.
    if (this.#current && this.#current.start.type !== 'tool_use') this.stop(this.#current.key)
    const block: Block = { key, start, buffered: [], isStopped: false, hasDelta: false, next: undefined }
    this.#open.set(key, block)
    if (this.#last) this.#last.next = block
    this.#last = block
    if (start.type === 'tool_use') this.#hasTool = true
    if (!this.#current) this.#makeCurrent(block)
    if (start.type === 'whole') this.stop(key)
  }

  delta(delta: Delta): void {
    const { key, text } = delta
    const block = this.#openBlock(key)
    if (!block) {
      this.#onRepair(`delta for block ${key}, which is not open`)
      return
    }
    if (text === '' || block.start.type === 'whole') return
    this.#characters += text.length
    this.#emit(block, delta)
  }

  signature(signature: Signature): void {
    const block = this.#openBlock(signature.key)
    if (block?.start.type !== 'thinking') {
      this.#onRepair(`signature for block ${signature.key}, which is not an open thinking block`)
      return
    }
    if (signature.signature !== '') this.#emit(block, signature)
  }

  citation(cited: Cited): void {
    const block = this.#openBlock(cited.key)
    if (block?.start.type === 'text') this.#emit(block, cited)
    else this.#onRepair(`citation for block ${cited.key}, which is not an open text block`)
  }

  stop(key: string): void {
    const block = this.#openBlock(key)
    if (!block) {
      this.#onRepair(`stop for block ${key}, which is not open`)
      return
    }
    block.isStopped = true
    while (this.#current?.isStopped) this.#finish(this.#current)
  }

  /** Ends all blocks, in order. */
  close(): void {
    for (const { key, isStopped } of [...this.#open.values()]) if (!isStopped) this.stop(key)
  }

  #openBlock(key: string): Block | undefined {
    // Nearly all events are about the current block.
    const block = this.#current?.key === key ? this.#current : this.#open.get(key)
    return block?.isStopped ? undefined : block
  }

  #emit(block: Block, event: BlockEvent): void {
    block.hasDelta = true
    if (block === this.#current) this.#out(event)
    else {
      const longer = joined(block.buffered.at(-1), event)
      if (longer) block.buffered[block.buffered.length - 1] = longer
      else block.buffered.push(event)
    }
  }

  #makeCurrent(block: Block): void {
    this.#current = block
    this.#out({ type: 'block_start', block: block.start })
    for (const event of block.buffered) this.#out(event)
    block.buffered = []
  }

  #finish(block: Block): void {
    // A call without arguments: the joined deltas must still be JSON.
    if (block.start.type === 'tool_use' && !block.hasDelta) this.#out({ type: 'block_delta', text: '{}' })
    this.#out({ type: 'block_stop' })
    this.#open.delete(block.key)
    this.#current = undefined
    if (this.#last === block) this.#last = undefined
    if (block.next) this.#makeCurrent(block.next)
  }
}

/** Joins two events; undefined when they are of different kinds, or have log probabilities. */
function joined(a: BlockEvent | undefined, b: BlockEvent): BlockEvent | undefined {
  if (a?.type === 'block_delta' && b.type === a.type) {
    // Copies of longer and longer lists would take quadratic time.
    return a.logprobs || b.logprobs ? undefined : { ...a, text: a.text + b.text }
  }
  if (a?.type === 'block_signature' && b.type === a.type) return { ...a, signature: a.signature + b.signature }
  return undefined
}
