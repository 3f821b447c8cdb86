import { randomBytes } from 'node:crypto'
import { unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseUnavailable } from '../platform/errors.ts'
import { inTime, type ReadinessCheck } from './readiness.ts'

const silent = 'the database does not answer'

/** SQLSTATEs of a database that answers and cannot write. Source: PostgreSQL manual, appendix A. */
const writeFaults: Readonly<Record<string, string>> = {
  '25006': 'the database is read-only',
  '53100': 'the disk of the database is full',
  '58030': 'the database cannot write to its disk',
}

/** Checks that `write` succeeds in the database. */
export const databaseCheck =
  (write: () => Promise<unknown>): ReadinessCheck =>
  () =>
    inTime(
      write().then(
        () => undefined,
        error => writeFaults[stateOf(error)] ?? silent,
      ),
      silent,
    )

/** True when the database answers and cannot write. */
export const isUnwritable = (error: unknown): boolean => stateOf(error) in writeFaults

function stateOf(error: unknown): string {
  const cause = error instanceof DatabaseUnavailable ? error.cause : error
  return cause instanceof Error && 'code' in cause ? String(cause.code) : ''
}

/** Enough to need a block of its own. */
const probeBytes = 64 * 1024

const folderFaults: Readonly<Record<string, string>> = {
  ENOSPC: 'its disk is full',
  EDQUOT: 'its disk quota is used up',
  EROFS: 'its disk is read-only',
  EACCES: 'permission denied',
  ENOENT: 'it is missing',
}

/** Checks that a file can be written to the data folder. */
export const folderCheck = (folder: string): ReadinessCheck => {
  const probe = join(folder, `.write-test-${randomBytes(4).toString('hex')}`)
  const bytes = Buffer.alloc(probeBytes, 'x')
  async function write(): Promise<string | undefined> {
    try {
      await writeFile(probe, bytes)
      return undefined
    } catch (error) {
      const { code = 'unknown error' } = error as NodeJS.ErrnoException
      return `the data folder cannot be written: ${folderFaults[code] ?? code}`
    } finally {
      await unlink(probe).catch(() => undefined)
    }
  }
  return () => inTime(write(), 'the data folder cannot be written: its disk does not answer')
}
