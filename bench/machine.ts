import { cpus, loadavg, totalmem } from 'node:os'
import { rounded } from './statistics.ts'

/** The machine in a line, with how busy it is now. */
export function machineNow(): string {
  const memoryGib = Math.round(totalmem() / 1024 ** 3)
  const load = loadavg()[0] ?? Number.NaN
  return `${cpus().length} cores (${cpus()[0]?.model.trim()}), ${memoryGib} GiB, ${process.platform}, Node ${process.versions.node}, load average ${rounded(load)}`
}
