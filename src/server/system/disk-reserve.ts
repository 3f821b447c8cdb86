import { open, rm, stat, statfs, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { runChild } from '../platform/child-process.ts'
import type { Log } from '../platform/log.ts'
import { every } from '../platform/timers.ts'

const MiB = 1024 * 1024
const reserveBytes = 64 * MiB
/** The reserve is deleted when less than this is free. */
const lowBytes = 16 * MiB
/** The reserve is created again when this much is free. */
const plentyBytes = 4 * reserveBytes
const pollMs = 500

/**
 * A file of 64 MiB in the data folder that is deleted when the disk is full, so that the embedded database and the
 * deletion of sessions can continue. It is created again when enough space is free.
 */
export interface DiskReserve {
  start(): void
  stop(): Promise<void>
  /** Deletes the file if the disk is full; returns whether it is. */
  freeIfFull(): Promise<boolean>
}

export function createDiskReserve(dataDir: string, log: Pick<Log, 'info' | 'error' | 'debug'>): DiskReserve {
  const file = join(dataDir, 'reserve')
  let stopWatching: (() => Promise<void>) | undefined

  async function freeIfFull(): Promise<boolean> {
    const free = await freeBytes(dataDir)
    if (free === undefined || free >= lowBytes) return false
    const isFreed = await unlink(file).then(
      () => true,
      () => false,
    )
    if (isFreed) log.error({ data_dir: dataDir }, 'disk of the data folder is full; freed its reserve of 64 MiB')
    return true
  }

  async function poll(): Promise<void> {
    if (await freeIfFull()) return
    const free = await freeBytes(dataDir)
    if (free === undefined || free < plentyBytes || (await isComplete(file))) return
    try {
      await allocate(file)
    } catch (cause) {
      log.debug({ err: cause }, 'cannot create the disk reserve; retrying in the next check')
      await rm(file, { force: true }).catch(() => undefined)
    }
  }

  return {
    start() {
      stopWatching = every(pollMs, poll)
    },
    async stop() {
      await stopWatching?.()
    },
    freeIfFull,
  }
}

async function freeBytes(folder: string): Promise<number | undefined> {
  const disk = await statfs(folder).catch(() => undefined)
  return disk && disk.bavail * disk.bsize
}

/** False for a partial file: its process may have been killed while it wrote the file. */
const isComplete = (file: string): Promise<boolean> =>
  stat(file).then(
    ({ blocks }) => blocks * 512 >= reserveBytes,
    () => false,
  )

/** Uses `fallocate` where the system supports it, which is instant; else writes the bytes. */
async function allocate(file: string): Promise<void> {
  await rm(file, { force: true })
  try {
    await runChild('fallocate', ['-l', String(reserveBytes), file], { env: { PATH: '/usr/bin:/bin' } })
  } catch {
    const handle = await open(file, 'w', 0o600)
    try {
      for (let left = reserveBytes; left > 0; left -= MiB) await handle.write(Buffer.alloc(MiB, 1))
    } finally {
      await handle.close()
    }
  }
}
