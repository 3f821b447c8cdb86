import type { ManagedFile } from '../../../contract/managed-sessions.ts'
import type { Files, StoredFile } from '../../files/files.ts'
import type { Caller } from '../../http/caller.ts'
import { AppError, invalid, notFound } from '../../platform/errors.ts'
import { newId } from '../../platform/ids.ts'
import type { RuntimeRegistry } from '../../runtimes/runtime.ts'
import type { FileResourceStore } from './file-resource-store.ts'

interface Target {
  readonly id: string
  readonly path: string
  readonly caller: Caller
}

interface Deps {
  readonly store: FileResourceStore
  readonly files: Pick<Files, 'among' | 'contentOf'>
  readonly runtimes: Pick<RuntimeRegistry, 'find'>
  /** Changes of the files of a session without an active run. */
  readonly workspace: {
    write(target: Target, body: AsyncIterable<Buffer>): Promise<unknown>
    remove(target: Target): Promise<void>
  }
}

/** A file that a request wants in a session, with its path in the request. */
export interface WantedFile {
  readonly resource: ManagedFile
  readonly field: string
}

/** A file that can be copied. */
export interface PlannedFile {
  readonly file: StoredFile
  /** Below the workspace. */
  readonly path: string
}

const root = '/workspace/'

/** Uploaded files as resources of sessions: copies in the workspace. */
export type FileResources = ReturnType<typeof createFileResources>

export function createFileResources({ store, files, runtimes, workspace }: Deps) {
  /** Copies a file into the workspace. Throws `conflict` while a run is active. */
  async function add(sessionId: string, { file, path }: PlannedFile, caller: Caller): Promise<string> {
    await workspace.write({ id: sessionId, path, caller }, files.contentOf(file))
    const id = newId('sesrsc')
    await store.insert({ id, session_id: sessionId, file_id: file.id, mount_path: `${root}${path}` })
    return id
  }

  return {
    add,

    /** Returns the files to copy. Throws `invalid_request`, naming the field. */
    async plan(wanted: readonly WantedFile[], caller: Caller): Promise<PlannedFile[]> {
      if (wanted.length === 0) return []
      const ids = wanted.map(({ resource }) => resource.file_id)
      const found = new Map((await files.among(caller.principal, ids)).map(file => [file.id, file]))
      return wanted.map(({ resource, field }) => {
        const file = found.get(resource.file_id)
        if (!file) throw invalid(`${field}.file_id: file ${resource.file_id} not found`)
        return { file, path: pathOf(resource.mount_path ?? `${root}uploads/${file.id}/${file.filename}`, field) }
      })
    },

    /** Throws `invalid_request` for a runtime that does not work on the files of the service. */
    async checkRuntime(runtime: string, field: string): Promise<void> {
      if ((await runtimes.find(runtime))?.capabilities.files) return
      throw invalid(`${field} is not supported by runtime ${runtime} (files is false); send the file in a message`)
    },

    /** Deletes a file resource and its copy. Throws `not_found`, and `conflict` while a run is active. */
    async remove(sessionId: string, id: string, caller: Caller): Promise<void> {
      const resource = await store.find(sessionId, id)
      if (!resource) throw notFound('resource', id)
      const path = resource.mount_path.slice(root.length)
      await workspace.remove({ id: sessionId, path, caller }).catch((error: unknown) => {
        // The agent may have deleted the copy.
        if (!(error instanceof AppError && error.code === 'not_found')) throw error
      })
      await store.remove(id)
    },
  }
}

function pathOf(mountPath: string, field: string): string {
  const names = mountPath.startsWith(root) ? mountPath.slice(root.length).split('/') : []
  if (names.length > 0 && names.every(name => !['', '.', '..'].includes(name))) return names.join('/')
  throw invalid(`${field}.mount_path must begin with ${root} and name a file`)
}
