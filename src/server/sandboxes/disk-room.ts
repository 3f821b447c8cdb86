import { lstat, opendir, statfs, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { every } from '../platform/timers.ts'
import { type Folder, openFolder } from './beneath.ts'
import type { SandboxLimits } from './sandbox.ts'

/** What is free on the disk of a folder. */
interface Room {
  readonly bytes: number
  /** Files that can still be made; infinite where the file system has no fixed number. */
  readonly files: number
}

type Floors = Pick<SandboxLimits, 'freeDiskBytes' | 'freeDiskFiles'>

const pollMs = 100

/** Undefined for a folder that is gone. */
async function roomOf(folder: string): Promise<Room | undefined> {
  const disk = await statfs(folder).catch(() => undefined)
  return disk && { bytes: disk.bavail * disk.bsize, files: disk.files > 0 ? disk.ffree : Number.POSITIVE_INFINITY }
}

/** Half of what is free now where that is less, so that a command can still delete files on a full disk. */
const floorUnder = ({ bytes, files }: Room, { freeDiskBytes, freeDiskFiles }: Floors): Room => ({
  bytes: Math.min(freeDiskBytes, bytes / 2),
  files: Math.min(freeDiskFiles, files / 2),
})

const above = ({ bytes, files }: Room): Room => ({ bytes: bytes * comfort, files: files * comfort })

const isBelow = (room: Room, floor: Room): boolean => room.bytes < floor.bytes || room.files < floor.files

/** Calls `full` when less is free than the floors say, or less than half of what was free at the start. */
export function watchDisk(folder: string, floors: Floors, full: () => void): () => Promise<void> {
  let floor: Room | undefined
  return every(pollMs, async () => {
    // A folder that is gone has been removed on purpose: its command is being stopped already.
    const room = await roomOf(folder)
    if (!room) return
    floor ??= floorUnder(room, floors)
    if (isBelow(room, floor)) full()
  })
}

/** Less than this was not what filled the disk. */
const leastBytes = 64 * 1024 * 1024
const leastFiles = 10_000
const largeBytes = 1024 * 1024
/** An open folder each. */
const deepestFolder = 60
/** So much more than the floor is made free: a write that was cut off gives some room back, and the next one must not be stopped at once. */
const comfort = 1.25
/** Clocks of file systems tick this coarsely. */
const clockMs = 20

/** What a command may leave behind on a disk that it has filled. */
export interface DiskMark {
  /**
   * Deletes what was written below the folder since the mark, the large files first, until there is room again. A folder
   * that holds little of that is left alone: another one has filled the disk. The number of deleted files.
   */
  clear(): Promise<number>
}

/** Remembers what is free now, before a command runs in `folder`. */
export async function markDisk(folder: string, floors: Floors): Promise<DiskMark> {
  const sinceMs = Date.now() - clockMs
  const room = await roomOf(folder)
  const floor = room && above(floorUnder(room, floors))
  const isFull = async () => {
    const now = await roomOf(folder)
    return floor !== undefined && now !== undefined && isBelow(now, floor)
  }
  async function unlinkFrom(least: number): Promise<number> {
    let deleted = 0
    for await (const { path, bytes } of filesSince(folder, sinceMs)) {
      if (bytes < least) continue
      if (!(await isFull())) break
      await unlink(path).then(
        () => deleted++,
        () => undefined,
      )
    }
    return deleted
  }
  return {
    async clear() {
      if (!(await isFull()) || !(await isMuch(folder, sinceMs))) return 0
      return (await unlinkFrom(largeBytes)) + (await unlinkFrom(0))
    },
  }
}

async function isMuch(folder: string, sinceMs: number): Promise<boolean> {
  let [bytes, files] = [0, 0]
  for await (const file of filesSince(folder, sinceMs)) {
    bytes += file.bytes
    files += 1
    if (bytes >= leastBytes || files >= leastFiles) return true
  }
  return false
}

interface FoundFile {
  /** Through an open folder, which no link can redirect; holds until the next file is asked for. */
  readonly path: string
  /** That it takes on the disk. */
  readonly bytes: number
}

async function* filesSince(root: string, sinceMs: number): AsyncGenerator<FoundFile> {
  const folder = await openFolder(root).catch(() => undefined)
  if (folder) yield* filesIn(folder, sinceMs, 0)
}

async function* filesIn(folder: Folder, sinceMs: number, depth: number): AsyncGenerator<FoundFile> {
  try {
    for await (const entry of await opendir(folder.path)) {
      const path = join(folder.path, entry.name)
      if (entry.isDirectory()) {
        // One that vanished, or may not be read, is left out.
        const below = depth < deepestFolder ? await openFolder(path).catch(() => undefined) : undefined
        if (below) yield* filesIn(below, sinceMs, depth + 1)
        continue
      }
      const found = await lstat(path).catch(() => undefined)
      // A command can set the other times of a file to the past, but not this one.
      if (found && found.ctimeMs >= sinceMs) yield { path, bytes: found.blocks * 512 }
    }
  } finally {
    await folder.handle.close()
  }
}
