import { distance, duration, exactTime, money } from './format.ts'
import { useTextOfNow } from './now.ts'

type Instant = string | number | null | undefined

const msOf = (at: Instant): number => (typeof at === 'string' ? Date.parse(at) : (at ?? Number.NaN))

/** A time relative to now, with the exact time and its zone on hover. */
export function Time({ at, absent = 'never' }: { readonly at: Instant; readonly absent?: string }) {
  const ms = msOf(at)
  const text = useTextOfNow(now => (Number.isNaN(ms) ? absent : distance(ms, now)))
  if (Number.isNaN(ms)) return <span className="soft">{absent}</span>
  return (
    <time dateTime={new Date(ms).toISOString()} title={exactTime(ms)} className="numbers">
      {text}
    </time>
  )
}

/** A clock that ticks once a second has no tenths. */
const wholeSeconds = (ms: number): string => (ms < 60_000 ? `${Math.floor(ms / 1000)} s` : duration(ms))

/** The time since an instant, running. */
export function Elapsed({ since }: { readonly since: Instant }) {
  const ms = msOf(since)
  const text = useTextOfNow(now => (Number.isNaN(ms) ? '' : wholeSeconds(Math.max(0, now - ms))))
  return text === '' ? null : <span className="numbers">{text}</span>
}

/** An amount in US dollars; `unknown` when the price is unknown. */
export function Money({ usd }: { readonly usd: number | string | null | undefined }) {
  return <span className={usd === null || usd === undefined ? 'soft' : 'numbers'}>{money(usd)}</span>
}
