/**
 * Returns the outcome of work that continues without its caller, or rejects with `failure` once the signal aborts. Without a signal
 * it waits for the work.
 */
export async function untilAborted<T>(
  work: Promise<T>,
  signal: AbortSignal | undefined,
  failure: () => unknown = () => signal?.reason,
): Promise<T> {
  if (!signal) return await work
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const stop = (): void => reject(failure())
  signal.addEventListener('abort', stop, { once: true })
  // Without a reader, its rejection after the signal would end the process.
  work.catch(() => undefined)
  if (signal.aborted) stop()
  try {
    return await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}
