import type { FastifyInstance } from 'fastify'
import type { FileChange } from '../../contract/files.ts'
import { opencodeRoutes } from '../../contract/opencode.ts'
import type { TextMatch } from '../../contract/opencode-files.ts'
import { opencodePlace } from '../../contract/opencode-route.ts'
import { bind } from '../http/bind.ts'
import type { Caller } from '../http/caller.ts'
import { invalid } from '../platform/errors.ts'
import type { Files, Snapshot } from '../workspaces/files.ts'
import { containsWords, linesOfPatch, matchesIn } from './file-search.ts'

export interface FileDeps {
  readonly files: Pick<Files, 'snapshot' | 'list' | 'file' | 'contentOf'>
  /** Returns the changes of a session's files since its start. */
  readonly changesOf: (sessionId: string, caller: Caller) => Promise<readonly FileChange[]>
}

/** Limits in bytes: of a file that is returned whole, of a searched file, and of all files of one search. */
const largestShown = 10 * 1024 * 1024
const largestSearched = 1024 * 1024
const searchedBytes = 16 * 1024 * 1024
const maxMatches = 100

/**
 * Serves the stored files of a session in opencode's format. Clients name the session as `workspace`; without it the
 * responses are empty.
 */
export function serveOpencodeFiles(app: FastifyInstance, { files, changesOf }: FileDeps): void {
  const snapshotOf = (id: string, caller: Caller) => files.snapshot(id, undefined, caller)

  bind(app, opencodeRoutes.files, async ({ query: { workspace, path = '' } }, caller) => {
    if (workspace === undefined) return []
    const entries = files.list(await snapshotOf(workspace, caller), path === '' ? '.' : path)
    return entries.map(entry => ({
      name: entry.path.slice(entry.path.lastIndexOf('/') + 1),
      path: entry.path,
      absolute: `${opencodePlace.directory}/${entry.path}`,
      type: entry.kind === 'folder' ? ('directory' as const) : ('file' as const),
      ignored: false,
    }))
  })

  bind(app, opencodeRoutes.fileContent, async ({ query: { workspace, path = '' } }, caller) => {
    if (workspace === undefined) return { type: 'text' as const, content: '' }
    const snapshot = await snapshotOf(workspace, caller)
    const entry = files.file(snapshot, path)
    if (entry.size > largestShown) {
      throw invalid(`${path} has ${entry.size} bytes; read it at /api/sessions/${workspace}/files/${path}`)
    }
    const content = await wholeOf(snapshot, entry)
    if (!content.includes(0)) return { type: 'text' as const, content: content.toString() }
    return { type: 'binary' as const, content: content.toString('base64'), encoding: 'base64' as const }
  })

  bind(app, opencodeRoutes.fileStatus, async ({ query: { workspace } }, caller) => {
    if (workspace === undefined) return []
    const changes = await changesOf(workspace, caller)
    return changes.map(({ path, change, patch }) => ({ path, status: change, ...linesOfPatch(patch) }))
  })

  bind(app, opencodeRoutes.findFiles, async ({ query }, caller) => {
    const { workspace, query: words = '', type, dirs, limit = maxMatches } = query
    if (workspace === undefined) return []
    const isWanted = (isFolder: boolean) =>
      type === undefined ? !isFolder || dirs !== 'false' : isFolder === (type === 'directory')
    const { manifest } = await snapshotOf(workspace, caller)
    return [...manifest.values()]
      .filter(({ path, kind }) => isWanted(kind === 'folder') && containsWords(path, words))
      .map(({ path, kind }) => (kind === 'folder' ? `${path}/` : path))
      .sort()
      .slice(0, limit)
  })

  bind(app, opencodeRoutes.findText, async ({ query: { workspace, pattern = '' } }, caller) => {
    if (workspace === undefined) return []
    const snapshot = await snapshotOf(workspace, caller)
    const matches: TextMatch[] = []
    let left = searchedBytes
    const entries = [...snapshot.manifest.values()].sort((one, other) => (one.path < other.path ? -1 : 1))
    for (const entry of entries) {
      if (entry.kind !== 'file' || entry.size > Math.min(largestSearched, left)) continue
      left -= entry.size
      matches.push(...matchesIn(entry.path, await wholeOf(snapshot, entry), pattern, maxMatches - matches.length))
      if (matches.length >= maxMatches) break
    }
    return matches
  })

  async function wholeOf({ owner }: Snapshot, entry: ReturnType<Files['file']>): Promise<Buffer> {
    const pieces: Buffer[] = []
    for await (const piece of files.contentOf(owner, entry)) pieces.push(piece)
    return Buffer.concat(pieces)
  }
}
