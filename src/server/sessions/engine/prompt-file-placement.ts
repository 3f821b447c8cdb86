import type { FilePart } from '../../../contract/prompt-files.ts'
import type { RunPrompt, Runtime } from '../../runtimes/runtime.ts'
import type { WorkspaceFiles } from '../../sandboxes/sandbox.ts'
import type { PromptFiles } from '../files/prompt-files.ts'
import { whileLeased } from '../log/event-log.ts'
import type { LeasedSession } from './leases.ts'

export interface PlacementDeps {
  readonly promptFiles: Pick<PromptFiles, 'read'>
  /** Returns the workspace of a session on this machine. */
  readonly filesOf: (sessionId: string) => Promise<Pick<WorkspaceFiles, 'list' | 'write'>>
}

interface Placing {
  readonly leased: LeasedSession
  readonly runtime: Pick<Runtime, 'workspace'>
  /** Called after files were written. */
  readonly onWrite: () => void
}

/**
 * Returns a function that writes the files of prompts into the workspace, for runtimes that have one. A file that exists
 * stays as it is: the agent may have changed it before a crash.
 */
export function createPlacement({ promptFiles, filesOf }: PlacementDeps, { leased, runtime, onWrite }: Placing) {
  const { sessionId } = leased
  const placed = new Set<string>()

  async function place(file: FilePart): Promise<void> {
    const files = await filesOf(sessionId)
    const folder = file.path.slice(0, file.path.lastIndexOf('/'))
    const found = await files.list(folder, { skip: new Set() }).then(
      ({ paths }) => paths,
      (): string[] => [],
    )
    if (!found.includes(file.name)) {
      await files.write(file.path, await whileLeased(leased, () => promptFiles.read(sessionId, file)))
      onWrite()
    }
    placed.add(file.path)
  }

  return async (prompts: readonly Pick<RunPrompt, 'parts'>[]): Promise<void> => {
    if (!runtime.workspace) return
    for (const part of prompts.flatMap(({ parts }) => parts)) {
      if (part.type === 'file' && !placed.has(part.path)) await place(part)
    }
  }
}
