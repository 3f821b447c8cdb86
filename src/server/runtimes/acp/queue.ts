/** More than this wait outside: a fast program must not fill the memory while the log is slow. */
const mostWaiting = 256

/** Items for one reader, in the order in which they came. */
export type Queue<T> = ReturnType<typeof createQueue<T>>

export function createQueue<T>() {
  const items: T[] = []
  let onItem: (() => void) | undefined
  let onRoom: (() => void)[] = []
  let isClosed = false

  const letIn = (): void => {
    const waiting = onRoom
    onRoom = []
    for (const resolve of waiting) resolve()
  }

  return {
    /** Resolves once there is room for more. */
    put(item: T): Promise<void> {
      if (isClosed) return Promise.resolve()
      items.push(item)
      onItem?.()
      return items.length < mostWaiting ? Promise.resolve() : new Promise(resolve => onRoom.push(resolve))
    },

    /** The next item; undefined when none came within `ms`, or `signal` aborts before. */
    async next(ms: number, signal: AbortSignal): Promise<T | undefined> {
      if (items.length === 0 && !signal.aborted) {
        await new Promise<void>(resolve => {
          const done = () => {
            clearTimeout(timer)
            signal.removeEventListener('abort', done)
            onItem = undefined
            resolve()
          }
          const timer = setTimeout(done, ms)
          signal.addEventListener('abort', done, { once: true })
          onItem = done
        })
      }
      const item = items.shift()
      if (items.length < mostWaiting) letIn()
      return item
    },

    /** What nobody has read. From now on items are dropped. */
    close(): T[] {
      isClosed = true
      letIn()
      return items.splice(0)
    },
  }
}
