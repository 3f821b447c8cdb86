/** Formatters are made once: making one takes a hundred times as long as using it, and lists have hundreds of figures. */
const dollars = (maximumFractionDigits: number): Intl.NumberFormat =>
  new Intl.NumberFormat('en-US', {
    style: 'currency',
    currency: 'USD',
    minimumFractionDigits: 2,
    maximumFractionDigits,
  })
const [cents, fractions] = [dollars(2), dollars(4)]
const whole = new Intl.NumberFormat('en-US')
const compact = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 })
const clock = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' })
const exact = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'long' })

/** Formats US dollars: `$0.0042`, `$12.40`; null and undefined are `unknown`. Takes exact decimals as text, too. */
export function money(usd: number | string | null | undefined): string {
  if (usd === null || usd === undefined || usd === '') return 'unknown'
  const value = Number(usd)
  if (!Number.isFinite(value)) return 'unknown'
  if (value === 0) return '$0.00'
  if (Math.abs(value) < 0.0001) return '< $0.0001'
  return (Math.abs(value) < 1 ? fractions : cents).format(value)
}

/** Formats a count with all its digits: `12,345`. */
export const exactCount = (value: number): string => whole.format(value)

/** Formats the time of a day: `14:03:09`. */
export const timeOfDay = (at: number | string): string => clock.format(new Date(at))

/** Formats a count: `812`, `12.3k`, `4.1M`, `2B`, `1T`. */
export function count(value: number): string {
  if (Math.abs(value) < 10_000) return whole.format(value)
  return compact.format(value).replace('K', 'k')
}

/** Formats a duration in milliseconds: `12 ms`, `1.2 s`, `42 s`, `3 m 04 s`, `2 h 05 m`, `3 d 4 h`. */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`
  const seconds = ms / 1000
  if (seconds < 10) return `${(Math.floor(seconds * 10) / 10).toFixed(1)} s`
  if (seconds < 60) return `${Math.floor(seconds)} s`
  const [m, h, d] = [Math.floor(seconds / 60), Math.floor(seconds / 3600), Math.floor(seconds / 86_400)]
  if (m < 60) return `${m} m ${two(seconds % 60)} s`
  if (h < 24) return `${h} h ${two(m % 60)} m`
  return `${d} d ${h % 24} h`
}

const two = (value: number): string => String(Math.floor(value)).padStart(2, '0')

/** Formats the distance of a time from now: `now`, `42 s`, `4 min`, `3 h`, `5 d`; with `in` for times to come. */
export function distance(at: number, now: number): string {
  const isFuture = at > now
  const seconds = Math.abs(now - at) / 1000
  if (seconds < 5) return 'now'
  const text =
    seconds < 60
      ? `${Math.floor(seconds)} s`
      : seconds < 3600
        ? `${Math.floor(seconds / 60)} min`
        : seconds < 86_400
          ? `${Math.floor(seconds / 3600)} h`
          : `${Math.floor(seconds / 86_400)} d`
  return isFuture ? `in ${text}` : text
}

/** Formats a size: `812 B`, `1.2 KB`, `4.1 MB`. */
export function bytes(size: number): string {
  if (size < 1024) return `${size} B`
  const [divisor, unit] = size < 1024 ** 2 ? [1024, 'KB'] : size < 1024 ** 3 ? [1024 ** 2, 'MB'] : [1024 ** 3, 'GB']
  return `${(size / divisor).toFixed(1)} ${unit}`
}

/** The exact time with its zone, for hover, focus and screen readers. */
export const exactTime = (at: number): string => exact.format(at)

/** Shortens an id in its middle: `ses_01JX…9KQ2`. */
export const shortId = (id: string): string => (id.length <= 16 ? id : `${id.slice(0, 8)}…${id.slice(-4)}`)

/** `1 session`, `2 sessions`. */
export const plural = (n: number, noun: string): string => `${whole.format(n)} ${noun}${n === 1 ? '' : 's'}`
