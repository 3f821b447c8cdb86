import { Cron } from 'croner'
import { offsetAt } from '../http/time-range.ts'
import { invalid } from '../platform/errors.ts'

/** Cron pattern of five fields, in the local time of a zone. */
export interface Timing {
  readonly cron: string
  /** A name of the IANA database. */
  readonly timezone: string
}

const fields = [
  ['minute', '0 to 59'],
  ['hour', '0 to 23'],
  ['day of the month', '1 to 31'],
  ['month', '1 to 12 or JAN to DEC'],
  ['day of the week', '0 to 7 or SUN to SAT'],
] as const

const hourMs = 3_600_000
const dayMs = 24 * hourMs

/**
 * Returns the pattern with one space between its fields. Throws `invalid_request` that names the field, also for a
 * pattern that never matches.
 */
export function checkCron(cron: string): string {
  const given = cron.trim().split(/\s+/)
  if (given.length !== fields.length) {
    throw invalid('cron must have five fields: minute, hour, day of the month, month, day of the week')
  }
  for (const [at, text] of given.entries()) {
    const [name, range] = fields[at] ?? ['', '']
    const alone = fields.map((_, other) => (other === at ? text : '*')).join(' ')
    if (!isPattern(alone)) throw invalid(`cron: ${name} must be ${range}, not ${JSON.stringify(text)}`)
  }
  const pattern = given.join(' ')
  if (!isPattern(pattern)) throw invalid(`cron ${JSON.stringify(pattern)} is not a valid cron pattern`)
  if (localAfter(pattern, Date.now()) === undefined) throw invalid(`cron ${JSON.stringify(pattern)} never fires`)
  return pattern
}

function isPattern(text: string): boolean {
  try {
    return parsed(text) !== undefined
  } catch {
    return false
  }
}

const parsed = (pattern: string): Cron => new Cron(pattern, { timezone: 'UTC', paused: true, mode: '5-part' })

/**
 * Returns the first time after `after` at which the schedule is due; undefined when it never is. At clock changes,
 * skipped local times are due at the next valid minute, and repeated local times are due once. A pattern for every hour
 * follows elapsed time instead. Reliability: section 1, row Time.
 */
export function nextRun({ cron, timezone }: Timing, after: Date): Date | undefined {
  const zone = zoneOf(timezone)
  const next = isEveryHour(cron)
    ? nextByElapsedTime(cron, zone, after.getTime())
    : nextByLocalTime(cron, zone, after.getTime())
  return next === undefined ? undefined : new Date(next)
}

/** Returns the first `count` times after `after`; fewer when the schedule ends. */
export function nextRuns(timing: Timing, after: Date, count: number): Date[] {
  const runs: Date[] = []
  for (let from: Date | undefined = after; from && runs.length < count; ) {
    from = nextRun(timing, from)
    if (from) runs.push(from)
  }
  return runs
}

/** Local times are represented as if they were UTC. */
interface Zone {
  /** Milliseconds by which local time is ahead of UTC. */
  offset(time: number): number
  /** Local time. */
  local(time: number): number
}

function zoneOf(timezone: string): Zone {
  const offset = (time: number) => offsetAt(time, timezone)
  return { offset, local: time => time + offset(time) }
}

/** Next match in local time. croner evaluates the pattern in UTC; clock changes are handled in this file. */
const localAfter = (cron: string, local: number): number | undefined => parsed(cron).nextRun(new Date(local))?.getTime()

function nextByLocalTime(cron: string, zone: Zone, after: number): number | undefined {
  const local = localAfter(cron, latestLocal(zone, after))
  return local === undefined ? undefined : firstOccurrence(zone, local).time
}

function nextByElapsedTime(cron: string, zone: Zone, after: number): number | undefined {
  const local = localAfter(cron, zone.local(after))
  if (local === undefined) return undefined
  const time = local - zone.offset(after)
  if (time - after > dayMs) {
    const { time: first, exists } = firstOccurrence(zone, local)
    return exists ? first : firstFrom(cron, zone, first)
  }
  if (zone.offset(time) === zone.offset(after)) return time
  return firstFrom(cron, zone, changeBetween(zone, after, time))
}

/** Returns the first match at or after a clock change. */
function firstFrom(cron: string, zone: Zone, change: number): number | undefined {
  const local = localAfter(cron, zone.local(change) - 1)
  return local === undefined ? undefined : local - zone.offset(change)
}

/** Returns the latest local time reached up to `time`, which exceeds the current local time while an hour repeats. */
function latestLocal(zone: Zone, time: number): number {
  const before = zone.offset(time - dayMs)
  if (before <= zone.offset(time)) return zone.local(time)
  const change = changeBetween(zone, time - dayMs, time)
  return Math.max(zone.local(time), change + before - 1)
}

/** Maximum distance of a zone from UTC, plus a skipped day. */
const maxOffsetMs = 36 * hourMs

/** Returns when local time `local` occurs first, or the end of the gap that skips it. */
function firstOccurrence(zone: Zone, local: number): { readonly time: number; readonly exists: boolean } {
  const [from, to] = [local - maxOffsetMs, local + maxOffsetMs]
  const candidates = [local - zone.offset(from), local - zone.offset(to)]
  const occurrences = candidates.filter(time => zone.local(time) === local)
  if (occurrences.length > 0) return { time: Math.min(...occurrences), exists: true }
  return { time: changeBetween(zone, from, to), exists: false }
}

/** Returns the clock change between two times with different offsets. */
function changeBetween(zone: Zone, from: number, to: number): number {
  const before = zone.offset(from)
  let [low, high] = [Math.floor(from / 1_000), Math.ceil(to / 1_000)]
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (zone.offset(middle * 1_000) === before) low = middle
    else high = middle
  }
  return high * 1_000
}

/** True when the pattern matches every hour of its days. */
function isEveryHour(cron: string): boolean {
  const hours = cron.split(' ')[1] ?? ''
  const from = Date.UTC(2000, 0, 1) - 1
  const [last] = parsed(`0 ${hours} * * *`).nextRuns(24, new Date(from)).slice(-1)
  return last?.getTime() === Date.UTC(2000, 0, 1, 23)
}
