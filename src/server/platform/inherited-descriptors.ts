import { closeSync, readdirSync, readFileSync } from 'node:fs'

const folder = '/proc/self/fd'
const closeOnExec = 0o2000000

/**
 * Closes the descriptors above standard error that whoever started this process left open, and returns their numbers. Our own are
 * all marked close-on-exec; what lacks the mark came from outside, and every program that we start would get it too. Node
 * marks only those up to 15 and the run that follows without a gap. Elsewhere than on Linux, libuv passes no other descriptors on.
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
    // The descriptor of the listing itself, which is closed by now.
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
