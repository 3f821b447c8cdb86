import { readdirSync, readFileSync } from 'node:fs'
import { performance } from 'node:perf_hooks'
import type { Instruments } from './instruments.ts'

/** Reads what the runtime and the system report about this process. `loopDelayMs`: mean delay of the event loop. */
export function readProcess(instruments: Instruments, loopDelayMs: number): void {
  const { user, system } = process.cpuUsage()
  instruments.total('process_cpu_seconds_total', (user + system) / 1e6)
  const memory = process.memoryUsage()
  instruments.set('process_resident_memory_bytes', memory.rss)
  instruments.set('nodejs_heap_size_used_bytes', memory.heapUsed)
  instruments.set('nodejs_external_memory_bytes', memory.external)
  instruments.set('process_start_time_seconds', (performance.timeOrigin || Date.now()) / 1000)
  instruments.set('switchyard_event_loop_delay_seconds', loopDelayMs / 1000)
  instruments.total('switchyard_event_loop_active_seconds_total', performance.eventLoopUtilization().active / 1000)
  readDescriptors(instruments)
}

/** Only Linux reports them. */
function readDescriptors(instruments: Instruments): void {
  if (process.platform !== 'linux') return
  try {
    instruments.set('process_open_fds', readdirSync('/proc/self/fd').length)
    const limit = Number(/^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1])
    if (limit > 0) instruments.set('process_max_fds', limit)
  } catch {
    // Reading needs a free descriptor; without one the last values stay.
  }
}
