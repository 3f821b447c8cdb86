import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync, utimesSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..', '..', '..')
const migrations = 'src/server/db/migrations'

/**
 * Returns the commit before the last change of the database schema: the neighbouring version, which runs beside this
 * one during an upgrade. Undefined without the history of the repository.
 */
export function versionBefore(): string | undefined {
  try {
    const last = git('log', '--diff-filter=A', '-1', '--format=%H', '--', migrations)
    return git('rev-parse', '--verify', '--quiet', `${last}^`)
  } catch {
    return undefined
  }
}

/** Unpacks a commit into the new folder `tree`. It runs with the packages of this tree, since tests have no network. */
export function unpackCommit(commit: string, tree: string): void {
  mkdirSync(tree, { recursive: true })
  const archive = join(tree, 'tree.tar')
  git('archive', '--format=tar', '--output', archive, commit)
  execFileSync('tar', ['-xf', archive, '-C', tree])
  symlinkSync(join(root, 'node_modules'), join(tree, 'node_modules'))
  // A lock file that is newer than the modules makes the program install them again.
  utimesSync(join(tree, 'package-lock.json'), 0, 0)
}

function git(...args: readonly string[]): string {
  return execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
}
