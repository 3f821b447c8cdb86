import { useSyncExternalStore } from 'react'

/** One clock for all ticking texts of the page; it stops while nothing shows a time. */
const listeners = new Set<() => void>()
let timer: ReturnType<typeof setInterval> | undefined
let current = Date.now()

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  if (timer === undefined) {
    current = Date.now()
    timer = setInterval(() => {
      current = Date.now()
      for (const each of listeners) each()
    }, 1000)
  }
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
}

/** Returns a text that depends on the current time in milliseconds. What shows it is drawn again only when it changes. */
export const useTextOfNow = (textAt: (now: number) => string): string =>
  useSyncExternalStore(subscribe, () => textAt(current))

/** Returns the current time in milliseconds, once a second. */
export const useNow = (): number => useSyncExternalStore(subscribe, () => current)
