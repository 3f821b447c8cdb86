import { closeSync, readdirSync, readFileSync } from 'node:fs'

const folder = '/proc/self/fd'
const closeOnExec = 0o2000000

/**
 * Closes inherited descriptors above standard error and returns their numbers. Our own descriptors are all
 * close-on-exec; those without the flag were inherited, and child programs would inherit them too. Node sets the flag
 * only up to descriptor 15 and on those that follow without a gap. On other systems than Linux, libuv passes no other
 * descriptors to children.
 */
export function closeInheritedDescriptors(): number[] {
  if (process.platform !== 'linux') return []
  return readdirSync(folder).map(Number).filter(isInherited).filter(isClosed)
}

function isInherited(descriptor: number): boolean {
  if (descriptor <= 2) return false
  try {
    const flags = /^flags:\s*([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, 'utf8'))?.[1]
    return flags !== undefined && (Number.parseInt(flags, 8) & closeOnExec) === 0
  } catch {
    // The descriptor of the directory listing, which is closed now.
    return false
  }
}

function isClosed(descriptor: number): boolean {
  try {
    closeSync(descriptor)
    return true
  } catch {
    return false
  }
}
