import { invalid } from '../platform/errors.ts'

interface RangeQuery {
  readonly from?: string
  readonly to?: string
}

/** From `from` inclusive to `to` exclusive; undefined is unbounded. */
export interface TimeRange {
  readonly from: Date | undefined
  readonly to: Date | undefined
}

/**
 * Returns the time range of a query. A date without a time means midnight in `timezone`; a time includes its zone.
 * Throws `invalid_request` with the field.
 */
export function timeRangeOf(query: RangeQuery, timezone = 'UTC'): TimeRange {
  const from = query.from === undefined ? undefined : timeOf('from', query.from, timezone)
  const to = query.to === undefined ? undefined : timeOf('to', query.to, timezone)
  if (from && to && from >= to) throw invalid('to must be later than from')
  return { from, to }
}

/** Returns the time in a text of the form of `DateTime`. Throws `invalid_request` for one that does not exist, such as month 13. */
export function timeIn(field: string, text: string): Date {
  const time = new Date(text)
  if (Number.isNaN(time.getTime())) throw invalid(`${field} ${JSON.stringify(text)} is not a valid time`)
  return time
}

/** Returns a valid IANA zone name unchanged. Throws `invalid_request` for unknown names and for offsets. */
export function checkTimezone(timezone: string): string {
  try {
    if (!/^[+-]/.test(timezone) && Intl.DateTimeFormat('en', { timeZone: timezone })) return timezone
  } catch {
    // Intl throws for unknown zones.
  }
  throw invalid('timezone must be an IANA time zone, such as Europe/Berlin')
}

const date = /^\d{4}-\d\d-\d\d$/
const dateTime = /^(\d{4}-\d\d-\d\d)T\d\d:\d\d(:\d\d([.]\d{1,9})?)?(Z|[+-]\d\d:\d\d)$/i

function timeOf(field: string, text: string, timezone: string): Date {
  // An unescaped plus in a URL arrives as a space.
  const spelled = text.replace(/ (\d\d:\d\d)$/, '+$1')
  const day = date.test(spelled) ? spelled : dateTime.exec(spelled)?.[1]
  if (day === undefined || !isDay(day)) throw invalidTime(field)
  const time = spelled === day ? midnight(day, timezone) : new Date(spelled.toUpperCase())
  if (Number.isNaN(time.getTime())) throw invalidTime(field)
  return time
}

const invalidTime = (field: string) =>
  invalid(`${field} must be a date such as 2026-01-31, or a time with its zone such as 2026-01-31T12:00:00Z`)

/** False for days such as February 30, which Date parses as a day in March. */
function isDay(text: string): boolean {
  const time = new Date(`${text}T00:00:00Z`)
  return !Number.isNaN(time.getTime()) && time.toISOString().startsWith(text)
}

/** Returns the start of a day in a zone. The second offset accounts for days on which the clocks change. */
function midnight(day: string, timezone: string): Date {
  const asUtc = Date.parse(`${day}T00:00:00Z`)
  const near = asUtc - offsetAt(asUtc, timezone)
  return new Date(asUtc - offsetAt(near, timezone))
}

/** Returns the offset of a zone from UTC at a time, in milliseconds. */
export function offsetAt(time: number, timeZone: string): number {
  const format = new Intl.DateTimeFormat('en', { timeZone, timeZoneName: 'longOffset' })
  const name = format.formatToParts(time).find(({ type }) => type === 'timeZoneName')?.value ?? ''
  const [, sign, hours = '0', minutes = '0', seconds = '0'] = /([+-])(\d\d):(\d\d)(?::(\d\d))?/.exec(name) ?? []
  const length = (Number(hours) * 3_600 + Number(minutes) * 60 + Number(seconds)) * 1_000
  return sign === '-' ? -length : length
}
