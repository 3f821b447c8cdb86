import { posix } from 'node:path'
import { invalid } from '../platform/errors.ts'
import { workspaceRoot } from './sandbox.ts'

const longestPath = 4096

/**
 * The names that lead from `root` to `path`, none of them `.` or `..`; empty for the root itself. Links are not looked
 * at. Errors: `invalid_request` for what is not below the root. Source: Security, S34.
 */
export function workspaceNames(path: string, root: string = workspaceRoot): string[] {
  if (path === '') throw invalid('the path is empty')
  if (path.includes('\0')) throw invalid('the path holds a NUL character')
  if (path.length > longestPath) throw invalid(`the path is longer than ${longestPath} characters`)
  if (/^~[^/]*(\/|$)/.test(path)) throw invalid(`"~" is not expanded; use a path below ${root}`)
  const full = posix.resolve(root, path)
  if (full === root) return []
  // The separator counts: /data2 is not below /data.
  if (!full.startsWith(`${root}/`)) throw invalid(`the path is outside of the workspace ${root}`)
  return full.slice(root.length + 1).split('/')
}
