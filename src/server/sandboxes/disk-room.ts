import { lstat, opendir, statfs, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { every } from '../platform/timers.ts'
import { type Folder, openFolder } from './beneath.ts'
import type { DiskRoom, SandboxLimits } from './sandbox.ts'

type Floors = Pick<SandboxLimits, 'freeDiskBytes' | 'freeDiskFiles'>

const pollMs = 100

/** Returns undefined when the folder does not exist. */
async function roomOf(folder: string): Promise<DiskRoom | undefined> {
  const disk = await statfs(folder).catch(() => undefined)
  return disk && { bytes: disk.bavail * disk.bsize, files: disk.files > 0 ? disk.ffree : Number.POSITIVE_INFINITY }
}

/** At most half of the space that is free now, so that a command can still delete files on a full disk. */
const floorUnder = ({ bytes, files }: DiskRoom, { freeDiskBytes, freeDiskFiles }: Floors): DiskRoom => ({
  bytes: Math.min(freeDiskBytes, bytes / 2),
  files: Math.min(freeDiskFiles, files / 2),
})

const above = ({ bytes, files }: DiskRoom): DiskRoom => ({ bytes: bytes * headroom, files: files * headroom })

const isBelow = (room: DiskRoom, floor: DiskRoom): boolean => room.bytes < floor.bytes || room.files < floor.files

/** Returns the free space below which a command that starts now is stopped; undefined when the folder does not exist. */
async function floorOf(folder: string, floors: Floors): Promise<DiskRoom | undefined> {
  const room = await roomOf(folder)
  return room && floorUnder(room, floors)
}

interface Watch {
  readonly floors: Floors
  /** What `markDisk` measured before the command; absent: it is measured now. */
  readonly floor?: DiskRoom | undefined
  readonly full: () => void
}

/** Calls `full` when free space falls below the floor. Stopped by the returned function. */
export function watchDisk(folder: string, { floors, floor, full }: Watch): () => Promise<void> {
  // Not at the first poll: a command can have filled the disk by then.
  const measured = floor ?? floorOf(folder, floors)
  return every(pollMs, async () => {
    const least = await measured
    // A missing folder was removed on purpose, and its command is already being stopped.
    const room = await roomOf(folder)
    if (least && room && isBelow(room, least)) full()
  })
}

/** A command that wrote less than this did not fill the disk. */
const minBytes = 64 * 1024 * 1024
const minFiles = 10_000
const largeBytes = 1024 * 1024
/** Each level keeps one folder open. */
const maxDepth = 60
/**
 * Free this much more than the floor: an interrupted write frees some space, and the next one must not stop at once.
 */
const headroom = 1.25
/** Timestamp resolution of file systems. */
const clockMs = 20

/** State of the disk before a command, used to clean up after it. */
export interface DiskMark {
  /** Free space below which the command is stopped. */
  readonly floor: DiskRoom | undefined
  isBelowFloor(): Promise<boolean>
  /**
   * Deletes files below the folder that were written since the mark, large ones first, until the disk has room again.
   * Skips a folder with few such files, because another one has filled the disk. Returns the number of deleted files.
   */
  clear(): Promise<number>
}

/** Records the free space before a command runs in `folder`. */
export async function markDisk(folder: string, floors: Floors): Promise<DiskMark> {
  const sinceMs = Date.now() - clockMs
  const floor = await floorOf(folder, floors)
  const isUnder = async (least: DiskRoom | undefined) => {
    const now = await roomOf(folder)
    return least !== undefined && now !== undefined && isBelow(now, least)
  }
  const isFull = () => isUnder(floor && above(floor))
  async function unlinkFrom(minFileBytes: number): Promise<number> {
    let deleted = 0
    for await (const { path, bytes } of filesSince(folder, sinceMs)) {
      if (bytes < minFileBytes) continue
      if (!(await isFull())) break
      await unlink(path).then(
        () => deleted++,
        () => undefined,
      )
    }
    return deleted
  }
  return {
    floor,
    isBelowFloor: () => isUnder(floor),
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
    if (bytes >= minBytes || files >= minFiles) return true
  }
  return false
}

interface FoundFile {
  /** Path through an open folder, which no link can redirect; valid until the next file is requested. */
  readonly path: string
  /** Bytes that it uses on the disk. */
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
        // A folder that has vanished or cannot be read is skipped.
        const below = depth < maxDepth ? await openFolder(path).catch(() => undefined) : undefined
        if (below) yield* filesIn(below, sinceMs, depth + 1)
        continue
      }
      const found = await lstat(path).catch(() => undefined)
      // A command can change the other timestamps of a file, but not this one.
      if (found && found.ctimeMs >= sinceMs) yield { path, bytes: found.blocks * 512 }
    }
  } finally {
    await folder.handle.close()
  }
}
