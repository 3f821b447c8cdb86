import { randomBytes } from 'node:crypto'
import { unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseUnavailable } from '../platform/errors.ts'
import { inTime, type ReadinessCheck } from './readiness.ts'

const silent = 'database does not respond'

/** SQLSTATEs of a database that responds but cannot write. Source: PostgreSQL manual, appendix A. */
const writeFaults: Readonly<Record<string, string>> = {
  '25006': 'database is read-only',
  '53100': 'disk of the database is full',
  '58030': 'database cannot write to its disk',
}

/** Returns a check that `write` succeeds in the database. */
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

/** True when the database responds but cannot write. */
export const isUnwritable = (error: unknown): boolean => stateOf(error) in writeFaults

function stateOf(error: unknown): string {
  const cause = error instanceof DatabaseUnavailable ? error.cause : error
  return cause instanceof Error && 'code' in cause ? String(cause.code) : ''
}

/** Large enough to need a new disk block. */
const probeBytes = 64 * 1024

const folderFaults: Readonly<Record<string, string>> = {
  ENOSPC: 'disk is full',
  EDQUOT: 'disk quota is exhausted',
  EROFS: 'disk is read-only',
  EACCES: 'permission denied',
  ENOENT: 'folder does not exist',
}

/** Returns a check that a file can be written to the data folder. */
export const folderCheck = (folder: string): ReadinessCheck => {
  const probe = join(folder, `.write-test-${randomBytes(4).toString('hex')}`)
  const bytes = Buffer.alloc(probeBytes, 'x')
  async function write(): Promise<string | undefined> {
    try {
      await writeFile(probe, bytes)
      return undefined
    } catch (error) {
      const { code = 'unknown error' } = error as NodeJS.ErrnoException
      return `cannot write to the data folder: ${folderFaults[code] ?? code}`
    } finally {
      await unlink(probe).catch(() => undefined)
    }
  }
  return () => inTime(write(), 'cannot write to the data folder: disk does not respond')
}
