import { oneOf } from './address.ts'

export const rangeNames = ['7d', 'today', '30d', 'custom'] as const
export type RangeName = (typeof rangeNames)[number]

/** Parameters of an address that choose days. `from` and `to` are the first and the last day of a custom range. */
export type RangeParameter = 'range' | 'from' | 'to' | 'zone'

/** Days of a time zone. */
export interface DayRange {
  readonly name: RangeName
  /** The first day: `2026-01-31`. */
  readonly from: string
  /** The last day, which is part of the range. */
  readonly to: string
  /** IANA name. */
  readonly zone: string
}

/** The time zone of the browser. */
export const localZone: string = Intl.DateTimeFormat().resolvedOptions().timeZone

/** Returns the day of an instant in a zone. The service rejects an unknown zone; here its days are those of UTC. */
export function dayOf(at: number, zone: string): string {
  const format = (timeZone: string) =>
    new Intl.DateTimeFormat('en-CA', { timeZone, year: 'numeric', month: '2-digit', day: '2-digit' }).format(at)
  return isZone(zone) ? format(zone) : format('UTC')
}

export function isZone(zone: string): boolean {
  try {
    return Boolean(new Intl.DateTimeFormat('en', { timeZone: zone }))
  } catch {
    return false
  }
}

/** Returns the day `days` later; the text itself if it is not a day, which the service rejects by name. */
export function addDays(day: string, days: number): string {
  const at = Date.parse(`${day}T00:00:00Z`)
  return Number.isNaN(at) ? day : new Date(at + days * 86_400_000).toISOString().slice(0, 10)
}

/** Returns the days that an address chooses: the last 7 by default. */
export function dayRangeOf(address: Readonly<Partial<Record<RangeParameter, string>>>, now: number): DayRange {
  const zone = address.zone ?? localZone
  const name = oneOf(address.range, rangeNames)
  const today = dayOf(now, zone)
  switch (name) {
    case 'today':
      return { name, from: today, to: today, zone }
    case '7d':
      return { name, from: addDays(today, -6), to: today, zone }
    case '30d':
      return { name, from: addDays(today, -29), to: today, zone }
    case 'custom':
      return { name, from: address.from ?? addDays(today, -6), to: address.to ?? today, zone }
  }
}

/** Returns a range as parameters of the API, whose `to` is the first instant after the range. */
export const rangeQueryOf = ({ from, to, zone }: DayRange) => ({ from, to: addDays(to, 1), timezone: zone })

const maxListedDays = 1100

/** Lists the days of a range. Empty when its ends are not days or are in the wrong order. */
export function daysOf({ from, to }: DayRange): readonly string[] {
  const length = (Date.parse(`${to}T00:00:00Z`) - Date.parse(`${from}T00:00:00Z`)) / 86_400_000 + 1
  if (!(length >= 1)) return []
  return Array.from({ length: Math.min(length, maxListedDays) }, (_, at) => addDays(from, at))
}
