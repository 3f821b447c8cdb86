import { posix } from 'node:path'
import { invalid } from '../platform/errors.ts'
import { workspaceRoot } from './sandbox.ts'

const maxPathLength = 4096

/**
 * Returns the names that lead from `root` to `path`, without `.` and `..`; empty for the root itself. Does not resolve
 * links. Errors: `invalid_request` for a path outside of the root. Source: Security, S34.
 */
export function workspaceNames(path: string, root: string = workspaceRoot): string[] {
  if (path === '') throw invalid('path is empty')
  if (path.includes('\0')) throw invalid('path contains a NUL character')
  if (path.length > maxPathLength) throw invalid(`path exceeds ${maxPathLength} characters`)
  if (/^~[^/]*(\/|$)/.test(path)) throw invalid(`"~" is not expanded; use a path below ${root}`)
  const full = posix.resolve(root, path)
  if (full === root) return []
  // Includes the separator: /data2 is not below /data.
  if (!full.startsWith(`${root}/`)) throw invalid(`path is outside of the workspace ${root}`)
  return full.slice(root.length + 1).split('/')
}
