/** Longest time that one turn should take, in milliseconds. */
export const turnMs = 5

const waiting: (() => void)[] = []

/**
 * Resolves when it is the caller's turn to compute for `turnMs`. Of all callers in the process one gets a turn in each pass of
 * the event loop, so any number of long computations together delay a request by one turn only.
 */
export function turn(): Promise<void> {
  return new Promise(resolve => {
    if (waiting.push(resolve) === 1) setImmediate(next)
  })
}

function next(): void {
  waiting.shift()?.()
  // A later pass: what sockets and timers have brought comes between.
  if (waiting.length > 0) setImmediate(next)
}
