import type { AnswerEvent, BlockStart, UpstreamEvent } from './answer-event.ts'

interface Options {
  readonly out: (event: AnswerEvent) => void
  readonly onRepair: (what: string) => void
}

type Delta = Extract<UpstreamEvent, { readonly type: 'block_delta' }>
type Signature = Extract<UpstreamEvent, { readonly type: 'block_signature' }>
type Cited = Extract<UpstreamEvent, { readonly type: 'block_citation' }>

/** What belongs to a block and waits with it. */
type Waiting = Delta | Signature | Cited

interface Block {
  readonly key: string
  readonly start: BlockStart
  /** What waits until the block is the current one; equal kinds are joined. */
  waiting: Waiting[]
  isStopped: boolean
  hasDelta: boolean
}

/**
 * Puts blocks that an upstream may send side by side into one row: the oldest that is not complete is the current one, the
 * others wait.
 */
export class BlockSequence {
  readonly #out: Options['out']
  readonly #onRepair: Options['onRepair']
  /** Open ones, the current one first. */
  readonly #open = new Map<string, Block>()
  #current: Block | undefined
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

  /** Of text, thinking and tool input so far. */
  get characters(): number {
    return this.#characters
  }

  start(key: string, start: BlockStart): void {
    if (this.#open.has(key)) {
      this.#onRepair(`a second start of block ${key}`)
      return
    }
    // Text and thinking end where something else begins; the input of a tool call may go on beside it.
    if (this.#current && this.#current.start.type !== 'tool_use') this.stop(this.#current.key)
    const block: Block = { key, start, waiting: [], isStopped: false, hasDelta: false }
    this.#open.set(key, block)
    if (start.type === 'tool_use') this.#hasTool = true
    if (!this.#current) this.#show(block)
    if (start.type === 'whole') this.stop(key)
  }

  delta(delta: Delta): void {
    const { key, text } = delta
    const block = this.#openBlock(key)
    if (!block) {
      this.#onRepair(`a delta for block ${key}, which is not open`)
      return
    }
    if (text === '' || block.start.type === 'whole') return
    this.#characters += text.length
    this.#say(block, delta)
  }

  signature(signature: Signature): void {
    const block = this.#openBlock(signature.key)
    if (block?.start.type !== 'thinking') {
      this.#onRepair(`a signature for block ${signature.key}, which is no open thinking`)
      return
    }
    if (signature.signature !== '') this.#say(block, signature)
  }

  citation(cited: Cited): void {
    const block = this.#openBlock(cited.key)
    if (block?.start.type === 'text') this.#say(block, cited)
    else this.#onRepair(`a citation for block ${cited.key}, which is no open text`)
  }

  stop(key: string): void {
    const block = this.#openBlock(key)
    if (!block) {
      this.#onRepair(`a stop for block ${key}, which is not open`)
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

  #say(block: Block, event: Waiting): void {
    block.hasDelta = true
    if (block === this.#current) this.#out(event)
    else {
      const longer = joined(block.waiting.at(-1), event)
      if (longer) block.waiting[block.waiting.length - 1] = longer
      else block.waiting.push(event)
    }
  }

  #show(block: Block): void {
    this.#current = block
    this.#out({ type: 'block_start', block: block.start })
    for (const event of block.waiting) this.#out(event)
    block.waiting = []
  }

  #finish(block: Block): void {
    // A call without arguments: what clients join must be JSON all the same.
    if (block.start.type === 'tool_use' && !block.hasDelta) this.#out({ type: 'block_delta', text: '{}' })
    this.#out({ type: 'block_stop' })
    this.#open.delete(block.key)
    this.#current = undefined
    const [next] = this.#open.values()
    if (next) this.#show(next)
  }
}

/** Both events as one; undefined when they are of different kinds. */
function joined(a: Waiting | undefined, b: Waiting): Waiting | undefined {
  if (a?.type === 'block_delta' && b.type === a.type) {
    const logprobs = [...(a.logprobs ?? []), ...(b.logprobs ?? [])]
    return { ...a, text: a.text + b.text, ...(logprobs.length > 0 && { logprobs }) }
  }
  if (a?.type === 'block_signature' && b.type === a.type) return { ...a, signature: a.signature + b.signature }
  return undefined
}
