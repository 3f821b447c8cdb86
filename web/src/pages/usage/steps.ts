import { daysOf, isZone } from '../../parts/day-range.ts'
import type { UsageView } from './view.ts'

/** A step on the time axis. */
export interface Step {
  /** Value of the dimension `day` or `hour`. */
  readonly value: string
  readonly label: string
}

const hourMs = 3_600_000

/** Returns all steps of a range up to now, also those without calls. `from` and `to` are those of the report. */
export function stepsOf(
  { range, unit }: Pick<UsageView, 'range' | 'unit'>,
  { from, to }: { readonly from: string; readonly to: string },
  now: number,
): readonly Step[] {
  const zone = isZone(range.zone) ? range.zone : 'UTC'
  if (unit === 'day') return daysOf(range).map(value => ({ value, label: dayLabel(value) }))
  const isOneDay = range.from === range.to
  const first = Math.floor(Date.parse(from) / hourMs) * hourMs
  const end = Math.min(Date.parse(to), now)
  const hours: Step[] = []
  for (let at = first; at < end; at += hourMs) {
    hours.push({ value: `${new Date(at).toISOString().slice(0, 19)}Z`, label: hourLabel(at, zone, isOneDay) })
  }
  return hours
}

const dayLabel = (day: string): string =>
  new Date(`${day}T00:00:00Z`).toLocaleDateString('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' })

const hourLabel = (at: number, timeZone: string, isOneDay: boolean): string =>
  new Date(at).toLocaleString('en-GB', {
    hour: '2-digit',
    minute: '2-digit',
    ...(!isOneDay && { day: 'numeric', month: 'short' }),
    timeZone,
  })
