import { link, open, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { AppError } from '../platform/errors.ts'

/** Returns the path of the new file: the given one, or one in the given folder that is named by the time. */
export async function targetOf(path: string): Promise<string> {
  const found = await stat(path).catch(() => undefined)
  if (found?.isDirectory()) return join(path, `switchyard-${stampOf(new Date())}.backup`)
  if (found) throw new AppError('conflict', `${path} exists; choose another file, or a folder`)
  return path
}

const stampOf = (time: Date): string => time.toISOString().replaceAll(/[-:]|\.\d+/g, '')

/** Returns the error for a file that cannot be created. */
export function cannotCreate(path: string, { code, message }: NodeJS.ErrnoException): AppError {
  const reasons: Readonly<Record<string, string>> = {
    EEXIST: 'another backup writes it, or was interrupted; delete it',
    ENOENT: `folder ${dirname(path)} does not exist; create it`,
  }
  return new AppError('conflict', `cannot create ${path}: ${reasons[code ?? ''] ?? code ?? message}`)
}

const fullDisk = new Set(['ENOSPC', 'EDQUOT', 'EFBIG'])

/** Returns the error of a failed write with its next step; other errors unchanged. */
export function asFullDisk(path: string, error: unknown): unknown {
  if (!(error instanceof Error && 'code' in error && fullDisk.has(String(error.code)))) return error
  const next = 'free space there, or choose another folder; the incomplete file was deleted'
  return new AppError('unavailable', `disk of ${dirname(path)} is full (${error.code}); ${next}`, { cause: error })
}

/** Gives the complete file its name, without replacing another one, and makes that durable. */
export async function moveInPlace(partial: string, file: string): Promise<void> {
  // A link never replaces an existing file.
  await link(partial, file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'EEXIST') throw new AppError('conflict', `${file} was created meanwhile; choose another file`)
    return claimAndRename(partial, file)
  })
  await rm(partial, { force: true })
  const folder = await open(dirname(file), 'r')
  await folder.sync().finally(() => folder.close())
}

/** For file systems without links: claims the name with an empty file, which the complete one replaces. */
async function claimAndRename(partial: string, file: string): Promise<void> {
  const claimed = await open(file, 'wx', 0o600)
  await claimed.close()
  await rename(partial, file)
}
