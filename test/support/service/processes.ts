import { readdirSync, readFileSync } from 'node:fs'
import { lack } from './lack.ts'

/** True once a tool's command runs. The virtual shell has no separate process for it, so there it counts at once. */
export const toolRuns = (command: string): boolean => lack('bubblewrap') !== false || isRunning(command)

/** True while a process of this machine has exactly this command line, its arguments joined by blanks. */
export function isRunning(command: string): boolean {
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .some(pid => commandLine(pid) === command)
}

/** The arguments of a process, empty when it has ended meanwhile. */
export function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').join(' ').trim()
  } catch {
    return ''
  }
}
