const waiting: (() => void)[] = []
/** Safari has no idle callbacks. */
const whenIdle = (work: () => void): void => {
  if (typeof requestIdleCallback === 'function') requestIdleCallback(work, { timeout: maxWaitMs })
  else setTimeout(work)
}
const maxWaitMs = 500

/** Runs work that takes long one at a time, when the browser is idle, so that clicks are answered in between. */
export function inTurn(work: () => void): void {
  waiting.push(work)
  if (waiting.length === 1) whenIdle(runNext)
}

function runNext(): void {
  waiting[0]?.()
  waiting.shift()
  if (waiting.length > 0) whenIdle(runNext)
}

/** Runs work after the next paint, so that a click shows its effect before what takes long. */
export const afterPaint = (work: () => void): void => {
  requestAnimationFrame(() => setTimeout(work))
}
