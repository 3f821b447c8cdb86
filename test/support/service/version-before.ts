import { execFileSync } from 'node:child_process'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..', '..', '..')
const migrations = 'src/server/db/migrations'

/**
 * Returns the commit before the last change of the database schema, which is the neighbouring version that runs beside
 * this one during an upgrade. Undefined without the history of the repository.
 */
export function versionBefore(): string | undefined {
  try {
    const last = git('log', '--diff-filter=A', '-1', '--format=%H', '--', migrations)
    return git('rev-parse', '--verify', '--quiet', `${last}^`)
  } catch {
    return undefined
  }
}

function git(...args: readonly string[]): string {
  return execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
}
