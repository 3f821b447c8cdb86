/** Senders block above this number of items, so that a fast sender does not fill the memory while the log is slow. */
const maxBuffered = 256

/** Queue of items from several senders for one reader, in order of arrival. */
export type Queue<T> = ReturnType<typeof createQueue<T>>

export function createQueue<T>() {
  const items: T[] = []
  let onEvent: (() => void) | undefined
  let onRoom: (() => void)[] = []
  let isClosed = false

  const releaseSenders = (): void => {
    const waiting = onRoom
    onRoom = []
    for (const resolve of waiting) resolve()
  }

  return {
    /** Adds an item; resolves once the queue accepts the next one. */
    put(item: T): Promise<void> {
      if (isClosed) return Promise.resolve()
      items.push(item)
      onEvent?.()
      return items.length < maxBuffered ? Promise.resolve() : new Promise(resolve => onRoom.push(resolve))
    },

    /** Returns the next item; undefined when `waiting` resolves first. The signal of `waiting` aborts on arrival. */
    async next(waiting: (arrived: AbortSignal) => Promise<void>): Promise<T | undefined> {
      if (items.length === 0) {
        const arrived = new AbortController()
        onEvent = () => arrived.abort()
        await waiting(arrived.signal)
        onEvent = undefined
      }
      const item = items.shift()
      if (items.length < maxBuffered) releaseSenders()
      return item
    },

    /** Returns the unread items. Items added afterwards are dropped. */
    close(): T[] {
      isClosed = true
      releaseSenders()
      return items.splice(0)
    },
  }
}
