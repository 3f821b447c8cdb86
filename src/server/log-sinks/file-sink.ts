import { constants } from 'node:fs'
import { type FileHandle, mkdir, open, readdir, rename, unlink } from 'node:fs/promises'
import { basename, dirname, extname, join } from 'node:path'
import type { FileSinkSettings } from '../config/export-settings.ts'
import { type LogSink, SinkFailure } from './sink.ts'

const { O_CREAT, O_NOFOLLOW, O_RDWR, O_APPEND } = constants
const mode = 0o600
const newLine = 0x0a

/** Returns a sink that appends JSON lines to a file, which only its owner can read. Rotates it by size and age. */
export function createFileSink(settings: FileSinkSettings): LogSink {
  const { name, path, maxBytes, maxAgeMs } = settings

  async function append(text: string): Promise<void> {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    const file = await open(path, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW, mode)
    try {
      await file.chmod(mode)
      await removeCutLine(file)
      await file.appendFile(text)
      // The rows are marked as sent afterwards, so they must survive a power failure.
      await file.datasync()
    } finally {
      await file.close()
    }
  }

  async function rotateIfDue(addedBytes: number): Promise<void> {
    const found = await sizeAndAge(path)
    if (!found || found.size === 0) return
    if (found.size + addedBytes <= maxBytes && found.ageMs < maxAgeMs) return
    const stamp = new Date().toISOString().replaceAll(/[:.]/g, '-')
    const extension = extname(path)
    await rename(path, `${path.slice(0, path.length - extension.length)}-${stamp}${extension}`)
    await removeOldest(settings)
  }

  return {
    name,
    async send(records) {
      const text = records.map(record => `${JSON.stringify(record)}\n`).join('')
      try {
        await rotateIfDue(Buffer.byteLength(text))
        await append(text)
      } catch (error) {
        const { code = 'unknown error' } = error as NodeJS.ErrnoException
        throw new SinkFailure(`cannot write ${path} (${code})`)
      }
    },
  }
}

async function sizeAndAge(path: string): Promise<{ size: number; ageMs: number } | undefined> {
  let file: FileHandle
  try {
    file = await open(path, constants.O_RDONLY | O_NOFOLLOW)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
  try {
    const { size, birthtimeMs, mtimeMs } = await file.stat()
    return { size, ageMs: Date.now() - (birthtimeMs || mtimeMs) }
  } finally {
    await file.close()
  }
}

const chunkBytes = 64 * 1024

/** Removes a last line without its end, which a crash has left: its record is sent again. */
async function removeCutLine(file: FileHandle): Promise<void> {
  let { size: end } = await file.stat()
  const whole = end
  const chunk = Buffer.alloc(chunkBytes)
  while (end > 0) {
    const start = Math.max(0, end - chunkBytes)
    const { bytesRead } = await file.read(chunk, 0, end - start, start)
    const last = chunk.subarray(0, bytesRead).lastIndexOf(newLine)
    if (last >= 0) {
      end = start + last + 1
      break
    }
    end = start
  }
  if (end < whole) await file.truncate(end)
}

/** Removes rotated files beyond `keep`, oldest first. Their names sort by time. */
async function removeOldest({ path, keep }: FileSinkSettings): Promise<void> {
  const folder = dirname(path)
  const extension = extname(path)
  const stem = basename(path, extension)
  const stamp = /^-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z$/
  const isRotated = (file: string) =>
    file.startsWith(stem) &&
    file.endsWith(extension) &&
    stamp.test(file.slice(stem.length, file.length - extension.length))
  const rotated = (await readdir(folder)).filter(isRotated).toSorted()
  for (const file of rotated.slice(0, Math.max(0, rotated.length - keep))) await unlink(join(folder, file))
}
