import type { Pool } from 'pg'
import type { OpenFiles } from '../platform/open-files.ts'

/** Whether this process should get traffic. */
export interface Readiness {
  /** Why not; empty means ready. */
  reasons(): Promise<readonly string[]>
  /** From now on the process is leaving: never ready again. */
  leave(): void
}

const databaseTimeoutMs = 2_000

/** Ready while the database answers, file descriptors are free and the process is not leaving. */
export function createReadiness(pool: Pool, files: Pick<OpenFiles, 'shortage'>): Readiness {
  let isLeaving = false
  return {
    async reasons() {
      const database = (await answersInTime(pool)) ? [] : ['the database does not answer']
      const { shortage } = files
      return [...(isLeaving ? ['the process is stopping'] : []), ...database, ...(shortage ? [shortage] : [])]
    },
    leave() {
      isLeaving = true
    },
  }
}

async function answersInTime(pool: Pool): Promise<boolean> {
  const late = new Promise<false>(resolve => setTimeout(resolve, databaseTimeoutMs, false).unref())
  const answer = pool.query('select 1').then(
    () => true,
    () => false,
  )
  return Promise.race([answer, late])
}
