import { frozenPayersOf } from './booking.ts'
import type { Call } from './call.ts'

/** Whose model calls are stopped: those of a key with its descendants, of an owner, or of everybody. */
export interface StoppedPayer {
  readonly scope: 'key' | 'owner' | 'all'
  /** Empty for `all`. */
  readonly id: string
}

const noSlot = -1

/**
 * The model calls that clients make through this process, while they last. Calls of sessions end with their runs. Slots that are
 * used again, not a set: a set under such churn leaves old tables behind, which keep ended calls and their bodies alive until the
 * next full collection (150 MB more memory, and twice the CPU time of a 305 KB call).
 */
export class ClientCalls {
  readonly #slots: (Call | undefined)[] = []
  readonly #free: number[] = []

  /** The slot of the call, for `end`. */
  begin(call: Call): number {
    if (!call.stop) return noSlot
    const slot = this.#free.pop() ?? this.#slots.length
    this.#slots[slot] = call
    return slot
  }

  end(slot: number): void {
    if (slot === noSlot) return
    this.#slots[slot] = undefined
    this.#free.push(slot)
  }

  /** Stops those that `payer` pays for; how many there were. */
  stop(payer: StoppedPayer): number {
    const stopped = this.#slots.filter(call => call !== undefined).filter(call => isPaidBy(call, payer))
    for (const call of stopped) call.stop?.()
    return stopped.length
  }
}

function isPaidBy(call: Call, { scope, id }: StoppedPayer): boolean {
  if (scope === 'all') return true
  const { keys, owner } = frozenPayersOf(call)
  return scope === 'key' ? keys.includes(id) : owner === id
}
