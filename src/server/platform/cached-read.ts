/**
 * Returns a read whose result is cached for `ttlMs` and shared by concurrent callers. A failed read is not cached.
 * `nowMs` is monotonic.
 */
export function cachedRead<T>(
  read: () => Promise<T>,
  ttlMs: number,
  nowMs: () => number = () => performance.now(),
): () => Promise<T> {
  let reading: Promise<T> | undefined
  let readAt = 0
  return () => {
    if (reading && nowMs() - readAt < ttlMs) return reading
    const started = read()
    reading = started
    readAt = nowMs()
    started.catch(() => {
      if (reading === started) reading = undefined
    })
    return started
  }
}
