import type { A2aArtifact } from '../../contract/a2a-objects.ts'
import { Recent } from '../platform/recent.ts'
import type { TaskPrompt, TaskReading } from './task-reading.ts'

/** A file that a run has written. */
interface WrittenFile {
  /** Path in the workspace. */
  readonly path: string
  readonly size: number
  /** SHA-256 of the content, in hexadecimal digits. */
  readonly hash: string
}

interface Deps {
  /** Returns the files that runs of a session have written between two events, sorted by path. */
  readonly written: (
    sessionId: string,
    span: { readonly from: number; readonly to: number },
  ) => Promise<readonly WrittenFile[]>
  readonly publicUrl: () => string
}

/** Files of one task that are shown; the others are at `/api/sessions/{id}/artifacts`. */
const maxFiles = 100
/** Ended tasks whose files are cached: they do not change. */
const maxTasks = 200

/** Returns the files that an ended task has written as artifacts, each with its address as of the end of the task. */
export type TaskFiles = (prompt: TaskPrompt, reading: TaskReading) => Promise<readonly A2aArtifact[]>

export function createTaskFiles({ written, publicUrl }: Deps): TaskFiles {
  const known = new Recent<readonly A2aArtifact[]>(maxTasks)
  return async ({ id, session_id: sessionId }, { ran }) => {
    if (!ran) return []
    const cached = known.get(id)
    if (cached) return cached
    const files = await written(sessionId, { from: ran.from, to: ran.to })
    const base = `${publicUrl()}/api/sessions/${sessionId}/files`
    const artifacts = files.slice(0, maxFiles).map(({ path, size, hash }) => ({
      artifactId: `file:${path}`,
      name: path,
      parts: [
        {
          url: `${base}/${path.split('/').map(encodeURIComponent).join('/')}?at=${ran.lastEventId}`,
          filename: path.slice(path.lastIndexOf('/') + 1),
          mediaType: 'application/octet-stream',
        },
      ],
      metadata: { size, sha256: hash },
    }))
    known.set(id, artifacts)
    return artifacts
  }
}
