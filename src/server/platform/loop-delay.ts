import { performance } from 'node:perf_hooks'

/** How late the event loop is. */
export interface LoopDelay {
  /** Mean over the last second, in milliseconds; 0 before there was a whole one, and while the loop has time to sleep. */
  readonly meanMs: number
  stop(): void
}

interface Tick {
  readonly atMs: number
  readonly lateMs: number
  /** Time that the loop has worked since the start. */
  readonly activeMs: number
}

/** Each tick wakes an idle process: 50 a second cost 1 % of a core. */
const periodMs = 50
const windowMs = 1_000
/** A loop that sleeps more than this leaves is late because the machine is busy: to refuse calls would not help. */
const busyShare = 0.8

/**
 * Watches the event loop until it is stopped. One long pause, such as a collection of garbage, hardly moves the mean. A
 * timer of our own: the histogram of `perf_hooks` forgets its last tick with each reset, so that under load, with one
 * tick between two resets, it sees nothing.
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
    // The first of the ticks stands for the beginning of the window: what it was late by belongs to the time before.
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
