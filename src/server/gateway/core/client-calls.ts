import { frozenPayersOf } from './booking.ts'
import type { Call } from './call.ts'

/** Whose model calls are stopped: those of a key with its descendants, of an owner, or of everybody. */
export interface StoppedPayer {
  readonly scope: 'key' | 'owner' | 'all'
  /** Empty for `all`. */
  readonly id: string
}

/** The model calls that clients make through this process, while they last. Calls of sessions end with their runs. */
export class ClientCalls {
  readonly #running = new Set<Call>()

  begin(call: Call): void {
    if (call.stop) this.#running.add(call)
  }

  end(call: Call): void {
    if (call.stop) this.#running.delete(call)
  }

  /** Stops those that `payer` pays for; how many there were. */
  stop(payer: StoppedPayer): number {
    const stopped = [...this.#running].filter(call => isPaidBy(call, payer))
    for (const call of stopped) call.stop?.()
    return stopped.length
  }
}

function isPaidBy(call: Call, { scope, id }: StoppedPayer): boolean {
  if (scope === 'all') return true
  const { keys, owner } = frozenPayersOf(call)
  return scope === 'key' ? keys.includes(id) : owner === id
}
