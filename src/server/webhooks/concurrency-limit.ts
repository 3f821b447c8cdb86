/**
 * Returns a function that runs at most `max` works at a time and queues the others in order. So a burst of deliveries
 * waits here instead of taking all database connections.
 */
export function createConcurrencyLimit(max: number): <T>(work: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = []
  let running = 0
  return async work => {
    if (running >= max) await new Promise<void>(resolve => waiting.push(resolve))
    else running++
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      // The next one takes over the slot, so `running` stays.
      if (next) next()
      else running--
    }
  }
}
