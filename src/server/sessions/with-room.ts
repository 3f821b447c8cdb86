import { pause } from '../platform/timers.ts'

const maxAttempts = 5
const retryMs = 300

/**
 * Runs `work` and returns its result. When it fails and `makeRoom` has freed disk space, retries up to five times in
 * all, because a database that ran out of space may still be recovering.
 */
export async function withRoom<T>(makeRoom: (cause: unknown) => Promise<boolean>, work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (cause) {
      if (attempt === maxAttempts || !(await makeRoom(cause))) throw cause
      await pause(retryMs)
    }
  }
}
