/** More than this wait outside: a fast stream must not fill the memory while the log is slow. */
const maxWaiting = 256

/** Items of several senders for one reader, in the order in which they came. */
export function createInbox<T>() {
  const items: T[] = []
  let onArrival: (() => void) | undefined
  let onRoom: (() => void)[] = []

  return {
    /** Resolves once there is room for more. */
    put(item: T): Promise<void> {
      items.push(item)
      onArrival?.()
      return items.length <= maxWaiting ? Promise.resolve() : new Promise(resolve => onRoom.push(resolve))
    },

    /** The next item; undefined when none came before `waiting` was over. */
    async next(waiting: (signal: AbortSignal) => Promise<void>): Promise<T | undefined> {
      if (items.length === 0) {
        const arrived = new AbortController()
        onArrival = () => arrived.abort()
        await waiting(arrived.signal)
        onArrival = undefined
      }
      const item = items.shift()
      if (items.length < maxWaiting) {
        for (const resolve of onRoom) resolve()
        onRoom = []
      }
      return item
    },
  }
}
