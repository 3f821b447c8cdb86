import type { EventStore } from '../sessions/log/event-store.ts'
import type { Snapshot } from './files.ts'
import type { FileEntry } from './manifest.ts'

const page = 500

/**
 * Returns the files that runs of the session have written: those whose content is not what the session started with, what
 * a caller last wrote to that path, or what a prompt carried. Sorted by path.
 */
export async function artifactsOf(
  events: Pick<EventStore, 'list'>,
  { sessionId, start, now }: { readonly sessionId: string; readonly start: Snapshot; readonly now: Snapshot },
): Promise<FileEntry[]> {
  const written = await writtenByCallers(events, sessionId, now.asOf?.seq ?? 0)
  const artifacts = [...now.manifest.values()].filter((entry): entry is FileEntry => {
    if (entry.kind !== 'file' || isAttached(entry)) return false
    const before = start.manifest.get(entry.path)
    if (before?.kind === 'file' && before.hash === entry.hash) return false
    return written.get(entry.path) !== entry.hash
  })
  return artifacts.sort((one, other) => (one.path < other.path ? -1 : 1))
}

/** True for an unchanged file of a prompt: its folder is named by the start of its hash. */
const isAttached = ({ path, hash }: FileEntry): boolean => path.startsWith(`uploads/${hash.slice(0, 12)}/`)

/** Returns the hashes of the contents that callers last wrote, by path. */
async function writtenByCallers(
  events: Pick<EventStore, 'list'>,
  sessionId: string,
  until: number,
): Promise<ReadonlyMap<string, string>> {
  const hashes = new Map<string, string>()
  for (let after = 0; ; ) {
    const { data, hasMore } = await events.list({
      sessionId,
      after,
      limit: page,
      order: 'asc',
      types: ['session.files_changed'],
    })
    for (const { seq, path, sha256 } of data)
      if (seq <= until && path !== undefined && sha256 !== undefined) hashes.set(path, sha256)
    const last = data.at(-1)
    if (!hasMore || last === undefined || last.seq > until) return hashes
    after = last.seq
  }
}
