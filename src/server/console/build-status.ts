import { constants } from 'node:fs'
import { access, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isAlive } from '../db/embedded/lock-file.ts'

/** Content of the status file: what the process that builds the console does, or why it failed. */
export type StoredStatus =
  | { readonly step: 'installing' | 'building'; readonly pid: number; readonly startedAtMs: number }
  | { readonly step: 'failed'; readonly reason: string; readonly next: string }

/** Why there is no build to serve. */
export type BuildStatus =
  | { readonly step: 'waiting' }
  | { readonly step: 'installing' | 'building'; readonly startedAtMs: number }
  | { readonly step: 'failed'; readonly reason: string; readonly next: string }

/** Where the status is stored, so that all processes that use the folder can show it. */
export const statusFileOf = (folder: string): string => join(folder, '.cache', 'status.json')

/** Returns the status of the console without a build. `folder` is that of its sources. */
export async function readBuildStatus(folder: string): Promise<BuildStatus> {
  if (!(await isAllowed(join(folder, 'package.json'), constants.R_OK)))
    return failed('this installation contains neither the console nor its sources', 'install the whole package again')
  const stored = await readStored(folder)
  if (stored?.step === 'failed') return stored
  if (stored && isAlive(stored.pid)) return stored
  if (!(await isAllowed(folder, constants.W_OK)))
    return failed(
      `user ${process.getuid?.() ?? 'of the service'} cannot write to the folder of the console`,
      'run "npm run build:console" as the owner of the folder',
    )
  return { step: 'waiting' }
}

const failed = (reason: string, next: string): BuildStatus => ({ step: 'failed', reason, next })

const isAllowed = (path: string, mode: number): Promise<boolean> =>
  access(path, mode).then(
    () => true,
    () => false,
  )

/** Returns the stored status; undefined without a readable one. */
export async function readStored(folder: string): Promise<StoredStatus | undefined> {
  try {
    return JSON.parse(await readFile(statusFileOf(folder), 'utf8')) as StoredStatus
  } catch {
    return undefined
  }
}
