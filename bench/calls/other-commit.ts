import { execFileSync } from 'node:child_process'
import { readFileSync, symlinkSync, utimesSync } from 'node:fs'
import { join } from 'node:path'

const thisTree = join(import.meta.dirname, '..', '..')

/** Another commit of this repository, ready to start. */
export interface OtherCommit {
  readonly name: string
  readonly root: string
  /** Removes its working tree. */
  remove(): void
}

const git = (...args: readonly string[]): string =>
  execFileSync('git', args, { cwd: thisTree, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim()

/** The short id of a commit. */
export const shortId = (commit: string): string => git('rev-parse', '--short', '--verify', `${commit}^{commit}`)

/** Checks a commit out into `root`, with the packages of this tree when both lock files are the same, else with its own. */
export function checkOut(commit: string, root: string): OtherCommit {
  const name = shortId(commit)
  git('worktree', 'add', '--detach', root, name)
  const remove = (): void => {
    process.off('exit', remove)
    git('worktree', 'remove', '--force', root)
  }
  process.once('exit', remove)
  try {
    addModules(root)
  } catch (error) {
    remove()
    throw error
  }
  return { name, root, remove }
}

function addModules(root: string): void {
  const lockOf = (tree: string): string => join(tree, 'package-lock.json')
  if (!readFileSync(lockOf(root)).equals(readFileSync(lockOf(thisTree)))) {
    execFileSync(process.execPath, [join(root, 'scripts', 'install.mjs'), root], {
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    return
  }
  symlinkSync(join(thisTree, 'node_modules'), join(root, 'node_modules'))
  // A lock file that is newer than the modules makes the program install them again, here through the link.
  utimesSync(lockOf(root), 0, 0)
}
