import { readdirSync, readFileSync } from 'node:fs'
import { lack } from './lack.ts'

/** True once a tool's command runs. The virtual shell has no separate process for it, so there it counts at once. */
export const toolRuns = (command: string): boolean => lack('bubblewrap') !== false || isRunning(command)

/** True while a process of this machine has exactly this command line, its arguments joined by blanks. */
export const isRunning = (command: string): boolean => pidOf(command) !== undefined

const pidOf = (command: string): string | undefined =>
  readdirSync('/proc').find(name => /^\d+$/.test(name) && commandLine(name) === command)

/** Returns a command that runs until it is released, the only one of its kind on this machine. */
export const waitingCommand = (): string => `sleep 9${String(process.hrtime.bigint()).slice(-8)}`

/** Ends the process that has exactly this command line. */
export function release(command: string): void {
  const pid = pidOf(command)
  if (pid === undefined) throw new Error(`${command} does not run`)
  process.kill(Number(pid), 'SIGTERM')
}

/** The arguments of a process, empty when it has ended meanwhile. */
export function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').join(' ').trim()
  } catch {
    return ''
  }
}
