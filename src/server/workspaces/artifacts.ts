import type { EventStore } from '../sessions/log/event-store.ts'
import type { CheckpointStore } from './checkpoint-store.ts'
import { emptyManifest, type FileEntry, type Manifest } from './manifest.ts'

const page = 500

/** Two states of a session's files. */
interface States {
  readonly sessionId: string
  readonly before: Manifest
  readonly now: Manifest
  /** Event as of which `now` is. */
  readonly until: number
}

/**
 * Returns the files that runs of the session have written: those whose content is not what it was before, what a caller
 * last wrote to that path, or what a prompt carried. Sorted by path.
 */
export async function artifactsOf(
  events: Pick<EventStore, 'list'>,
  { sessionId, before, now, until }: States,
): Promise<FileEntry[]> {
  const written = await writtenByCallers(events, sessionId, until)
  const artifacts = [...now.values()].filter((entry): entry is FileEntry => {
    if (entry.kind !== 'file' || isAttached(entry)) return false
    const earlier = before.get(entry.path)
    if (earlier?.kind === 'file' && earlier.hash === entry.hash) return false
    return written.get(entry.path) !== entry.hash
  })
  return artifacts.sort((one, other) => (one.path < other.path ? -1 : 1))
}

interface WrittenDeps {
  readonly checkpoints: Pick<CheckpointStore, 'at'>
  readonly events: Pick<EventStore, 'list'>
}

/** Returns the files that runs of a session have written after event `from`, as of event `to`. */
export const createWrittenFiles =
  ({ checkpoints, events }: WrittenDeps) =>
  async (sessionId: string, { from, to }: { readonly from: number; readonly to: number }): Promise<FileEntry[]> => {
    const now = await checkpoints.at(sessionId, to)
    if (!now || now.seq <= from) return []
    const before = (await checkpoints.at(sessionId, from))?.manifest ?? emptyManifest
    return artifactsOf(events, { sessionId, before, now: now.manifest, until: now.seq })
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
