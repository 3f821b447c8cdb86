import type { Leaving } from '../platform/leaving.ts'

/** Tells a call, once, that its client has closed the connection. */
export class ClientGone implements Leaving {
  aborted = false
  #listeners: (() => void)[] = []

  addEventListener(_type: 'abort', listener: () => void): void {
    this.#listeners.push(listener)
  }

  removeEventListener(_type: 'abort', listener: () => void): void {
    this.#listeners = this.#listeners.filter(known => known !== listener)
  }

  tell(): void {
    if (this.aborted) return
    this.aborted = true
    for (const listener of this.#listeners.splice(0)) listener()
  }
}
