import { open, rm, stat, statfs, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { runChild } from '../platform/child-process.ts'
import type { Log } from '../platform/log.ts'
import { every } from '../platform/timers.ts'

const MiB = 1024 * 1024
const reserveBytes = 64 * MiB
/** With less free than this the reserve is given to whoever has to write. */
const lowBytes = 16 * MiB
/** The reserve is made again once so much is free. */
const plentyBytes = 4 * reserveBytes
const pollMs = 500

/**
 * A file of 64 MiB in the data folder that is deleted when the disk is full, so that the embedded database and the deletion of
 * sessions can go on. It comes back by itself once there is room.
 */
export interface DiskReserve {
  start(): void
  stop(): Promise<void>
  /** Deletes the file if the disk is full. True when it is. */
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
    if (isFreed)
      log.error({ data_dir: dataDir }, 'the disk of the data folder is full; its reserve of 64 MiB was freed')
    return true
  }

  async function look(): Promise<void> {
    if (await freeIfFull()) return
    const free = await freeBytes(dataDir)
    if (free === undefined || free < plentyBytes || (await isThere(file))) return
    try {
      await allocate(file)
    } catch (cause) {
      log.debug({ err: cause }, 'the reserve of the disk could not be made; the next look will')
      await rm(file, { force: true }).catch(() => undefined)
    }
  }

  return {
    start() {
      stopWatching = every(pollMs, look)
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

/** Only a whole one counts: a process may have been killed while it made it. */
const isThere = (file: string): Promise<boolean> =>
  stat(file).then(
    ({ blocks }) => blocks * 512 >= reserveBytes,
    () => false,
  )

/** By the system where it can, which takes no time; else by writing. */
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
