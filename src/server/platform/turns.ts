const waiting: (() => void)[] = []

/**
 * Resolves once the caller may compute for about 5 ms. One caller per process gets a turn in each event loop iteration,
 * so any number of long computations delay a request by only one turn.
 */
function turn(): Promise<void> {
  return new Promise(resolve => {
    if (waiting.push(resolve) === 1) setImmediate(next)
  })
}

function next(): void {
  waiting.shift()?.()
  // In a later iteration, so that I/O and timers run in between.
  if (waiting.length > 0) setImmediate(next)
}

/**
 * Runs `work` in turns; it must yield about every 5 ms. Rejects with its error, or with the reason of the signal.
 */
export async function inTurns<T>(work: Generator<undefined, T>, signal: AbortSignal): Promise<T> {
  for (;;) {
    await turn()
    signal.throwIfAborted()
    const step = work.next()
    if (step.done) return step.value
  }
}
