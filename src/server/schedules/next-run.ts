import { Cron } from 'croner'
import { offsetAt } from '../http/time-range.ts'
import { invalid } from '../platform/errors.ts'

/** When a schedule is due: a cron pattern of five fields, read by the clocks of a zone. */
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
 * The pattern with one space between its fields. Throws `invalid_request` that names the field, also for a pattern that
 * no day fulfils.
 */
export function checkCron(cron: string): string {
  const given = cron.trim().split(/\s+/)
  if (given.length !== fields.length) {
    throw invalid('cron must have five fields: minute, hour, day of the month, month, day of the week')
  }
  for (const [at, text] of given.entries()) {
    const [name, range] = fields[at] ?? ['', '']
    const alone = fields.map((_, other) => (other === at ? text : '*')).join(' ')
    if (!isPattern(alone)) throw invalid(`cron has the ${name} ${JSON.stringify(text)}; it must be ${range}`)
  }
  const pattern = given.join(' ')
  if (!isPattern(pattern)) throw invalid(`cron ${JSON.stringify(pattern)} is not a cron pattern`)
  if (wallAfter(pattern, Date.now()) === undefined) throw invalid(`cron ${JSON.stringify(pattern)} never fires`)
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
 * The first time after `after` at which the schedule is due; undefined when there is none. Times that the clocks skip
 * are due at the next valid minute, times that they show twice are due once. A pattern for every hour keeps its rhythm
 * instead: it is about elapsed time. Reliability: section 1, row Time.
 */
export function nextRun({ cron, timezone }: Timing, after: Date): Date | undefined {
  const zone = zoneOf(timezone)
  const next = isEveryHour(cron) ? nextByRhythm(cron, zone, after.getTime()) : nextByWall(cron, zone, after.getTime())
  return next === undefined ? undefined : new Date(next)
}

/** Times of a wall clock are written as if they were UTC. */
interface Zone {
  /** Milliseconds by which the clocks are ahead of UTC. */
  offset(time: number): number
  /** What the clocks show. */
  wall(time: number): number
}

function zoneOf(timezone: string): Zone {
  const offset = (time: number) => offsetAt(time, timezone)
  return { offset, wall: time => time + offset(time) }
}

/** croner finds the days and minutes of the pattern; what the clocks make of them is decided here. */
const wallAfter = (cron: string, wall: number): number | undefined => parsed(cron).nextRun(new Date(wall))?.getTime()

function nextByWall(cron: string, zone: Zone, after: number): number | undefined {
  const wall = wallAfter(cron, furthestWall(zone, after))
  return wall === undefined ? undefined : firstShown(zone, wall).time
}

function nextByRhythm(cron: string, zone: Zone, after: number): number | undefined {
  const wall = wallAfter(cron, zone.wall(after))
  if (wall === undefined) return undefined
  const time = wall - zone.offset(after)
  if (time - after > dayMs) {
    const { time: first, isShown } = firstShown(zone, wall)
    return isShown ? first : firstFrom(cron, zone, first)
  }
  if (zone.offset(time) === zone.offset(after)) return time
  return firstFrom(cron, zone, changeBetween(zone, after, time))
}

/** The first match from a change of the clocks on. */
function firstFrom(cron: string, zone: Zone, change: number): number | undefined {
  const wall = wallAfter(cron, zone.wall(change) - 1)
  return wall === undefined ? undefined : wall - zone.offset(change)
}

/** The latest time that the clocks have shown up to `time`: more than they show while they go through an hour again. */
function furthestWall(zone: Zone, time: number): number {
  const before = zone.offset(time - dayMs)
  if (before <= zone.offset(time)) return zone.wall(time)
  const change = changeBetween(zone, time - dayMs, time)
  return Math.max(zone.wall(time), change + before - 1)
}

/** No zone is further from UTC than this, with a day that was left out on top. */
const reachMs = 36 * hourMs

/** When the clocks first show `wall`, or have just skipped it. */
function firstShown(zone: Zone, wall: number): { readonly time: number; readonly isShown: boolean } {
  const [from, to] = [wall - reachMs, wall + reachMs]
  const candidates = [wall - zone.offset(from), wall - zone.offset(to)]
  const shown = candidates.filter(time => zone.wall(time) === wall)
  if (shown.length > 0) return { time: Math.min(...shown), isShown: true }
  return { time: changeBetween(zone, from, to), isShown: false }
}

/** The one change of the clocks between two times that differ in their offset. */
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

/** True when the pattern is due in each hour of its days. */
function isEveryHour(cron: string): boolean {
  const hours = cron.split(' ')[1] ?? ''
  const from = Date.UTC(2000, 0, 1) - 1
  const [last] = parsed(`0 ${hours} * * *`).nextRuns(24, new Date(from)).slice(-1)
  return last?.getTime() === Date.UTC(2000, 0, 1, 23)
}
