import { performance } from 'node:perf_hooks'

/** Delay of the event loop. */
export interface LoopDelay {
  /** Mean over the last second in milliseconds; 0 during the first second, and while the loop is idle enough. */
  readonly meanMs: number
  stop(): void
}

interface Tick {
  readonly atMs: number
  readonly lateMs: number
  /** Active time of the loop since the start. */
  readonly activeMs: number
}

/** Each tick wakes an idle process: 50 per second would cost 1 % of a core. */
const periodMs = 50
const windowMs = 1_000
/** Below this active share the loop is late because the machine is busy, and rejecting calls would not help. */
const busyShare = 0.8

/**
 * Measures the event loop delay until stopped. A single long pause, such as a garbage collection, hardly affects the
 * mean. Uses its own timer: the histogram of `perf_hooks` drops its last tick on each reset, so that under load, with
 * one tick between two resets, it measures nothing.
 */
export function watchLoopDelay(): LoopDelay {
  const startedMs = performance.now()
  const ticks: Tick[] = [{ atMs: startedMs, lateMs: 0, activeMs: performance.eventLoopUtilization().active }]
  let sumMs = 0
  let meanMs = 0
  const timer = setInterval(() => {
    const atMs = performance.now()
    const lateMs = Math.max(0, atMs - (ticks.at(-1)?.atMs ?? atMs) - periodMs)
    const { active: activeMs } = performance.eventLoopUtilization()
    ticks.push({ atMs, lateMs, activeMs })
    sumMs += lateMs
    for (let next = ticks[1]; next && next.atMs < atMs - windowMs; next = ticks[1]) {
      sumMs -= next.lateMs
      ticks.shift()
    }
    // The first tick marks the start of the window; its delay belongs to the time before.
    const [first] = ticks
    const isBusy = first !== undefined && activeMs - first.activeMs >= busyShare * (atMs - first.atMs)
    meanMs = isBusy && atMs - startedMs >= windowMs ? sumMs / (ticks.length - 1) : 0
  }, periodMs)
  timer.unref()
  return {
    get meanMs() {
      return meanMs
    },
    stop: () => clearInterval(timer),
  }
}
