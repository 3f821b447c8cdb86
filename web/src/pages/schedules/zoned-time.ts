import { localZone } from '../../parts/day-range.ts'

/** Formats a time in a time zone: `Tue 5 May 2026, 09:30 CEST`. A zone that the browser does not know is shown in UTC. */
export function zonedTime(at: string, timeZone: string): string {
  const date = new Date(at)
  try {
    return formatted(date, timeZone)
  } catch {
    return formatted(date, 'UTC')
  }
}

const formatted = (date: Date, timeZone: string): string =>
  date.toLocaleString('en-GB', {
    timeZone,
    weekday: 'short',
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    timeZoneName: 'short',
  })

/** Names of the IANA database; UTC first, then the zone of the browser. */
export const zones: readonly string[] = [...new Set(['UTC', localZone, ...Intl.supportedValuesOf('timeZone')])]
