/**
 * Lets at most `most` works run at a time; the others wait in the order they came. A storm of deliveries then waits here,
 * and not for connections of the database that everything else needs too.
 */
export function createTurns(most: number): <T>(work: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = []
  let running = 0
  return async work => {
    if (running >= most) await new Promise<void>(resolve => waiting.push(resolve))
    else running++
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      // The next one takes the place over.
      if (next) next()
      else running--
    }
  }
}
