const waiting: (() => void)[] = []

/**
 * Resolves when the caller may compute for about 5 ms. Of all callers in the process one gets a turn in each pass of the
 * event loop, so any number of long computations together delay a request by one turn only.
 */
function turn(): Promise<void> {
  return new Promise(resolve => {
    if (waiting.push(resolve) === 1) setImmediate(next)
  })
}

function next(): void {
  waiting.shift()?.()
  // A later pass: what sockets and timers have brought comes between.
  if (waiting.length > 0) setImmediate(next)
}

/**
 * Runs `work` in turns; it yields at least every 5 ms or so. Rejects with what it throws, or with the reason of the signal.
 */
export async function inTurns<T>(work: Generator<undefined, T>, signal: AbortSignal): Promise<T> {
  for (;;) {
    await turn()
    signal.throwIfAborted()
    const step = work.next()
    if (step.done) return step.value
  }
}
