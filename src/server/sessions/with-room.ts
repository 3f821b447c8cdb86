import { pause } from '../platform/timers.ts'

const mostAttempts = 5
const retryMs = 300

/**
 * What `work` returns. When it fails and `makeRoom` says that room was the cause and has been made, it is tried again, five
 * times in all: a database that has run out of room may be recovering.
 */
export async function withRoom<T>(makeRoom: (cause: unknown) => Promise<boolean>, work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (cause) {
      if (attempt === mostAttempts || !(await makeRoom(cause))) throw cause
      await pause(retryMs)
    }
  }
}
