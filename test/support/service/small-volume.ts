import { execFileSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A separate file system in memory. */
export interface SmallVolume {
  readonly folder: string
  /** Once nothing uses it any more. */
  unmount(): void
}

/** Undefined where this user may not mount. */
export function smallVolume(mebibytes: number, inodes = 100_000): SmallVolume | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'switchyard-volume-'))
  const remove = () => rmdirSync(folder)
  try {
    const options = `size=${mebibytes}m,nr_inodes=${inodes},mode=711`
    execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', folder], { stdio: 'ignore' })
  } catch {
    remove()
    return undefined
  }
  chmodSync(folder, 0o711)
  return {
    folder,
    unmount() {
      execFileSync('umount', [folder])
      remove()
    },
  }
}
