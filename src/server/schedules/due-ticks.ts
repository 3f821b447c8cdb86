import { nextRun, type Timing } from './next-run.ts'

/** The fields of a schedule that decide its ticks. */
export interface TickRules extends Timing {
  readonly missed: 'skip' | 'once' | 'all'
  readonly missed_limit: number
}

/** Decision about the ticks up to now. */
export interface DueTicks {
  /** Ticks to run, in order. */
  readonly run: readonly { readonly dueAt: Date; readonly cause: 'tick' | 'missed' }[]
  /** The first skipped tick, and why it is skipped. */
  readonly skipped: { readonly dueAt: Date; readonly reason: string } | undefined
  readonly next: Date | undefined
}

/** A tick that is handled later than this counts as missed. */
const graceMs = 60_000
const firstWindowMs = 3_600_000

/**
 * Decides which ticks from `first` to `now` run. Each runs once or is skipped; only the first skipped one is reported.
 */
export function dueTicks(schedule: TickRules, first: Date, now: Date): DueTicks {
  const next = nextRun(schedule, now)
  const count = schedule.missed === 'all' ? schedule.missed_limit + 2 : 2
  const ticks = latestTicks(schedule, { first, now }, count)
  const isOnTime = (dueAt: Date) => dueAt.getTime() >= now.getTime() - graceMs
  const onTime = ticks.filter(isOnTime).map(dueAt => ({ dueAt, cause: 'tick' as const }))
  const missed = ticks.filter(dueAt => !isOnTime(dueAt)).map(dueAt => ({ dueAt, cause: 'missed' as const }))
  const run = [...ticksToCatchUp(schedule, missed, onTime.length > 0), ...onTime]
  // `latestTicks` returns all ticks back to the oldest that runs, so ticks are missing only before `run[0]`.
  const isComplete = run[0]?.dueAt.getTime() === first.getTime()
  const reason = `missed: no server was running in time${run.length > 0 ? '; later ticks run' : ''}`
  return { run, skipped: isComplete || isOnTime(first) ? undefined : { dueAt: first, reason }, next }
}

function ticksToCatchUp<T>(
  { missed, missed_limit }: TickRules,
  ticks: readonly T[],
  runsAnyway: boolean,
): readonly T[] {
  if (missed === 'skip') return []
  if (missed === 'all') return ticks.slice(-missed_limit)
  return runsAnyway ? [] : ticks.slice(-1)
}

/** Returns at least the `count` latest ticks, if there are so many, without computing every tick of a long absence. */
function latestTicks(timing: Timing, { first, now }: { first: Date; now: Date }, count: number): Date[] {
  for (let windowMs = firstWindowMs; ; windowMs *= 4) {
    const isWhole = now.getTime() - windowMs <= first.getTime()
    const found = isWhole ? [first] : []
    let at = isWhole ? nextRun(timing, first) : nextRun(timing, new Date(now.getTime() - windowMs))
    for (; at && at <= now; at = nextRun(timing, at)) found.push(at)
    if (isWhole || found.length >= count) return found
  }
}
