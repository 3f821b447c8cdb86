/** Waits for `work`, which continues when the signal aborts: then rejects with `reason`. */
export async function unlessAborted<T>(
  work: Promise<T>,
  signal: AbortSignal | undefined,
  reason: () => Error,
): Promise<T> {
  if (!signal) return await work
  // Work that fails later is reported to the next caller.
  work.catch(() => undefined)
  return await new Promise<T>((resolve, reject) => {
    const abort = () => reject(reason())
    if (signal.aborted) return abort()
    signal.addEventListener('abort', abort, { once: true })
    void work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}
