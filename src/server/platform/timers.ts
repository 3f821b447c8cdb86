import type { CancelSignal } from './cancel-signal.ts'

/** Runs `work` every `periodMs` without overlap. The returned function stops it and waits for a running `work`. */
export function every(periodMs: number, work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined
  const timer = setInterval(() => {
    running ??= work().finally(() => {
      running = undefined
    })
  }, periodMs)
  timer.unref()
  return async () => {
    clearInterval(timer)
    await running
  }
}

/** Resolves after `ms`, or as soon as `signal` aborts. Never rejects. */
export function pause(ms: number, signal?: CancelSignal): Promise<void> {
  return new Promise(resolve => {
    if (signal?.aborted) return resolve()
    const done = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal?.addEventListener('abort', done, { once: true })
  })
}
