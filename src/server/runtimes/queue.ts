/** More than this wait outside: a fast sender must not fill the memory while the log is slow. */
const maxWaiting = 256

/** Items of several senders for one reader, in the order in which they came. */
export type Queue<T> = ReturnType<typeof createQueue<T>>

export function createQueue<T>() {
  const items: T[] = []
  let onArrival: (() => void) | undefined
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
      onArrival?.()
      return items.length < maxWaiting ? Promise.resolve() : new Promise(resolve => onRoom.push(resolve))
    },

    /** The next item; undefined when none came before `waiting` was over. Its signal aborts when one comes. */
    async next(waiting: (arrived: AbortSignal) => Promise<void>): Promise<T | undefined> {
      if (items.length === 0) {
        const arrived = new AbortController()
        onArrival = () => arrived.abort()
        await waiting(arrived.signal)
        onArrival = undefined
      }
      const item = items.shift()
      if (items.length < maxWaiting) letIn()
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
