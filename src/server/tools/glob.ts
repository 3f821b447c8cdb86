import { posix } from 'node:path'
import { Type } from 'typebox'
import type { workspaceRoot } from '../sandboxes/sandbox.ts'
import { pathsThatFit } from './glob-search.ts'
import { outputsFolder } from './large-results.ts'
import { defineTool, done } from './tool.ts'

const root: typeof workspaceRoot = '/workspace'
const maxPaths = 1000

/** Folders that are skipped unless the pattern or path names them. */
const skippedFolders = ['.git', 'node_modules', outputsFolder]

/** Finds files by name. */
export const globTool = defineTool({
  name: 'glob',
  description:
    'Find files of the workspace whose path matches a pattern such as **/*.ts or src/{a,b}/*.md. Paths are relative to ' +
    '/workspace and sorted. The folders .git and node_modules are skipped unless the pattern or path names them.',
  input: Type.Object({
    pattern: Type.String({ minLength: 1, maxLength: 1000, description: 'Relative to path' }),
    path: Type.Optional(Type.String({ description: 'The folder to search; /workspace when absent' })),
  }),
  idempotent: true,
  reads: true,
  // The paths, and the sets of steps that the pattern has reached.
  memoryBytes: () => 32 * 1024 * 1024,
  async run({ pattern, path = root }, { sandbox, signal }) {
    const isBelowRoot = pattern.startsWith(`${root}/`)
    const folder = isBelowRoot ? root : path
    const relative = isBelowRoot ? pattern.slice(root.length + 1) : pattern.replace(/^(\.\/)+/, '')
    const named = new Set(`${pattern}/${path}`.split('/'))
    const skip = new Set(skippedFolders.filter(name => !named.has(name)))
    const { paths, complete } = await sandbox.files.list(folder, { skip, signal })
    const found = await pathsThatFit(relative, paths, signal)
    const prefix = posix.relative(root, posix.resolve(root, folder))
    const shown = found.slice(0, maxPaths).map(name => posix.join(prefix, name))
    const notes = [
      found.length > maxPaths ? `[${found.length - maxPaths} more paths not shown]` : '',
      complete ? '' : '[not all folders were searched: too many files]',
    ]
    return done([...(shown.length > 0 ? shown : ['No files found']), ...notes.filter(note => note !== '')].join('\n'))
  },
})
