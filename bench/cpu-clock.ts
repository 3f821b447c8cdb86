import { cpuTimeUs, processTree } from './process-figures.ts'

/** CPU time since a clock was started. */
export interface CpuTime {
  /** Of all threads of the process and of all that it started. */
  readonly wholeUs: number
  /** The part that other processes took, such as its own database. */
  readonly childrenUs: number
}

/** Starts to count the CPU time of a process tree. What a child took that ended meanwhile is not seen. */
export function startCpuClock(pid: number): () => CpuTime {
  const before = timesOf(pid)
  return () => {
    let [wholeUs, childrenUs] = [0, 0]
    for (const [member, timeUs] of timesOf(pid)) {
      const spentUs = timeUs - (before.get(member) ?? 0)
      wholeUs += spentUs
      if (member !== pid) childrenUs += spentUs
    }
    return { wholeUs, childrenUs }
  }
}

function timesOf(pid: number): Map<number, number> {
  const times = new Map<number, number>()
  for (const member of processTree(pid)) {
    try {
      times.set(member, cpuTimeUs(member))
    } catch {
      // It ended between the listing and the read.
    }
  }
  return times
}
