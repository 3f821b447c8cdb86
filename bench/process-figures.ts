import { readdirSync, readFileSync } from 'node:fs'

// Figures of processes in /proc. A process that ended meanwhile counts as nothing.

/** Microseconds that all living threads of a process have computed so far. */
export function cpuTimeUs(pid: number): number {
  const threads = readdirSync(`/proc/${pid}/task`)
  const nanoseconds = threads.map(thread => Number(read(`/proc/${pid}/task/${thread}/schedstat`).split(' ')[0]))
  return nanoseconds.reduce((sum, time) => sum + time, 0) / 1_000
}

/** Resident memory in MiB, shared pages included. */
export const residentMib = (pid: number): number => kibOf(read(`/proc/${pid}/status`), 'VmRSS') / 1_024

/** Memory of several processes in MiB; what they share among each other is counted once. */
export const proportionalMib = (pids: readonly number[]): number =>
  pids.reduce((sum, pid) => sum + kibOf(read(`/proc/${pid}/smaps_rollup`), 'Pss'), 0) / 1_024

/** The process and all that it started, directly or not. */
export function processTree(pid: number): number[] {
  const children = read(`/proc/${pid}/task/${pid}/children`).trim().split(' ').filter(Boolean).map(Number)
  return [pid, ...children.flatMap(processTree)]
}

/** The program and its arguments. */
export const commandLine = (pid: number): string[] => read(`/proc/${pid}/cmdline`).split('\0').slice(0, -1)

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

const kibOf = (text: string, field: string): number =>
  Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(text)?.[1] ?? 0)
