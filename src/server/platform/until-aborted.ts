/** Returns the outcome of work that continues without its caller, or rejects with `failure` once the signal aborts. */
export async function untilAborted<T>(
  work: Promise<T>,
  signal: AbortSignal,
  failure: () => unknown = () => signal.reason,
): Promise<T> {
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
