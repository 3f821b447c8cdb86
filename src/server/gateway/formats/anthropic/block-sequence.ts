import type { BlockStart } from '../../core/answer-event.ts'
import type { WireBlock, WireDelta, WireEvent } from './wire-event.ts'

interface Options {
  readonly out: (event: WireEvent) => void
  readonly onRepair: (what: string) => void
}

interface Block {
  readonly start: BlockStart
  /** What waits until the block is the one on the wire; equal kinds are joined. */
  waiting: WireDelta[]
  isStopped: boolean
  hasDelta: boolean
}

/**
 * Puts blocks that an upstream may send side by side into one row: the oldest that is not complete is on the wire, the
 * others wait. It alone gives out indices.
 */
export class BlockSequence {
  readonly #out: Options['out']
  readonly #onRepair: Options['onRepair']
  /** Open ones, the one on the wire first. */
  readonly #open = new Map<string, Block>()
  /** The key of the block on the wire. */
  #current: string | undefined
  #index = -1
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
    const current = this.#current === undefined ? undefined : this.#open.get(this.#current)
    // Text and thinking end where something else begins; the input of a tool call may go on beside it.
    if (current && this.#current !== undefined && current.start.type !== 'tool_use') this.stop(this.#current)
    this.#open.set(key, { start, waiting: [], isStopped: false, hasDelta: false })
    if (start.type === 'tool_use') this.#hasTool = true
    if (this.#current === undefined) this.#show(key)
    if (start.type === 'whole') this.stop(key)
  }

  delta(key: string, text: string): void {
    const block = this.#open.get(key)
    if (!block || block.isStopped) {
      this.#onRepair(`a delta for block ${key}, which is not open`)
      return
    }
    if (text === '' || block.start.type === 'whole') return
    this.#characters += text.length
    this.#say(key, block, deltaOf(block.start.type, text))
  }

  signature(key: string, signature: string): void {
    const block = this.#open.get(key)
    if (!block || block.isStopped || block.start.type !== 'thinking') {
      this.#onRepair(`a signature for block ${key}, which is no open thinking`)
      return
    }
    if (signature !== '') this.#say(key, block, { type: 'signature_delta', signature })
  }

  stop(key: string): void {
    const block = this.#open.get(key)
    if (!block || block.isStopped) {
      this.#onRepair(`a stop for block ${key}, which is not open`)
      return
    }
    block.isStopped = true
    while (this.#current !== undefined && this.#open.get(this.#current)?.isStopped) this.#finishCurrent()
  }

  /** Ends all blocks, in order. */
  close(): void {
    for (const [key, { isStopped }] of [...this.#open]) if (!isStopped) this.stop(key)
  }

  #say(key: string, block: Block, delta: WireDelta): void {
    block.hasDelta = true
    if (key === this.#current) this.#out({ type: 'content_block_delta', index: this.#index, delta })
    else {
      const longer = joined(block.waiting.at(-1), delta)
      if (longer) block.waiting[block.waiting.length - 1] = longer
      else block.waiting.push(delta)
    }
  }

  #show(key: string): void {
    const block = this.#open.get(key)
    if (!block) return
    this.#current = key
    this.#index++
    this.#out({ type: 'content_block_start', index: this.#index, content_block: wireStart(block.start) })
    for (const delta of block.waiting) this.#out({ type: 'content_block_delta', index: this.#index, delta })
    block.waiting = []
  }

  #finishCurrent(): void {
    if (this.#current === undefined) return
    const block = this.#open.get(this.#current)
    // A call without arguments: what clients join must be JSON all the same.
    if (block?.start.type === 'tool_use' && !block.hasDelta) {
      const delta = { type: 'input_json_delta', partial_json: '{}' } as const
      this.#out({ type: 'content_block_delta', index: this.#index, delta })
    }
    this.#out({ type: 'content_block_stop', index: this.#index })
    this.#open.delete(this.#current)
    this.#current = undefined
    const [next] = this.#open.keys()
    if (next !== undefined) this.#show(next)
  }
}

function deltaOf(type: 'text' | 'thinking' | 'tool_use', text: string): WireDelta {
  switch (type) {
    case 'text':
      return { type: 'text_delta', text }
    case 'thinking':
      return { type: 'thinking_delta', thinking: text }
    case 'tool_use':
      return { type: 'input_json_delta', partial_json: text }
  }
}

function wireStart(start: BlockStart): WireBlock {
  switch (start.type) {
    case 'text':
      return { type: 'text', text: '' }
    case 'thinking':
      return { type: 'thinking', thinking: '', signature: '' }
    case 'tool_use':
      return { type: 'tool_use', id: start.id, name: start.name, input: {} }
    case 'whole':
      return start.block
  }
}

/** Both deltas as one; undefined when they are of different kinds. */
function joined(a: WireDelta | undefined, b: WireDelta): WireDelta | undefined {
  if (a?.type === 'text_delta' && b.type === a.type) return { ...a, text: a.text + b.text }
  if (a?.type === 'thinking_delta' && b.type === a.type) return { ...a, thinking: a.thinking + b.thinking }
  if (a?.type === 'signature_delta' && b.type === a.type) return { ...a, signature: a.signature + b.signature }
  if (a?.type === 'input_json_delta' && b.type === a.type)
    return { ...a, partial_json: a.partial_json + b.partial_json }
  return undefined
}
