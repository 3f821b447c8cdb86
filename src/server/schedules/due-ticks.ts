import { nextRun, type Timing } from './next-run.ts'

/** A schedule as far as its ticks depend on it. */
export interface Ticking extends Timing {
  readonly missed: 'skip' | 'once' | 'all'
  readonly missed_limit: number
}

/** What is to be done about the ticks up to now. */
export interface DueTicks {
  /** In order. */
  readonly run: readonly { readonly dueAt: Date; readonly cause: 'tick' | 'missed' }[]
  /** The first of those that are left out, and why. */
  readonly leftOut: { readonly dueAt: Date; readonly reason: string } | undefined
  readonly next: Date | undefined
}

/** A tick that is taken up later than this was missed. */
const graceMs = 60_000
const firstWindowMs = 3_600_000

/** Decides which ticks from `first` to `now` run. Each of them runs once, or is told of as left out. */
export function dueTicks(schedule: Ticking, first: Date, now: Date): DueTicks {
  const next = nextRun(schedule, now)
  const wanted = schedule.missed === 'all' ? schedule.missed_limit + 2 : 2
  const ticks = latestTicks(schedule, { first, now }, wanted)
  const isOnTime = (dueAt: Date) => dueAt.getTime() >= now.getTime() - graceMs
  const onTime = ticks.filter(isOnTime).map(dueAt => ({ dueAt, cause: 'tick' as const }))
  const missed = ticks.filter(dueAt => !isOnTime(dueAt)).map(dueAt => ({ dueAt, cause: 'missed' as const }))
  const run = [...caughtUp(schedule, missed, onTime.length > 0), ...onTime]
  // The first tick is always in a window that reaches back to it; a later one runs only with all between them.
  const isComplete = run[0]?.dueAt.getTime() === first.getTime()
  const reason = `missed: no server was there in time${run.length > 0 ? '; later ones run' : ''}`
  return { run, leftOut: isComplete || isOnTime(first) ? undefined : { dueAt: first, reason }, next }
}

function caughtUp<T>({ missed, missed_limit }: Ticking, ticks: readonly T[], runsAnyway: boolean): readonly T[] {
  if (missed === 'skip') return []
  if (missed === 'all') return ticks.slice(-missed_limit)
  return runsAnyway ? [] : ticks.slice(-1)
}

/** At least the `count` latest ticks of the time, unless there are fewer. A long absence is not gone through as a whole. */
function latestTicks(timing: Timing, { first, now }: { first: Date; now: Date }, count: number): Date[] {
  for (let windowMs = firstWindowMs; ; windowMs *= 4) {
    const isWhole = now.getTime() - windowMs <= first.getTime()
    const found = isWhole ? [first] : []
    let at = isWhole ? nextRun(timing, first) : nextRun(timing, new Date(now.getTime() - windowMs))
    for (; at && at <= now; at = nextRun(timing, at)) found.push(at)
    if (isWhole || found.length >= count) return found
  }
}
