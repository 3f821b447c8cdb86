import { Tooltip } from '@mantine/core'
import { distance, duration, exactTime, money } from './format.ts'
import { useNow } from './now.ts'

type Instant = string | number | null | undefined

const msOf = (at: Instant): number => (typeof at === 'string' ? Date.parse(at) : (at ?? Number.NaN))

/** A time relative to now, with the exact time and its zone on hover and focus. */
export function Time({ at, absent = 'never' }: { readonly at: Instant; readonly absent?: string }) {
  const now = useNow()
  const ms = msOf(at)
  if (Number.isNaN(ms)) return <span className="soft">{absent}</span>
  const exact = exactTime(ms)
  return (
    <Tooltip label={exact}>
      <time dateTime={new Date(ms).toISOString()} className="numbers">
        {distance(ms, now)}
      </time>
    </Tooltip>
  )
}

/** A clock that ticks once a second has no tenths. */
const wholeSeconds = (ms: number): string => (ms < 60_000 ? `${Math.floor(ms / 1000)} s` : duration(ms))

/** The time since an instant, running. */
export function Elapsed({ since }: { readonly since: Instant }) {
  const now = useNow()
  const ms = msOf(since)
  return Number.isNaN(ms) ? null : <span className="numbers">{wholeSeconds(Math.max(0, now - ms))}</span>
}

/** An amount in US dollars; `unknown` when the price is unknown. */
export function Money({ usd }: { readonly usd: number | string | null | undefined }) {
  return <span className={usd === null || usd === undefined ? 'soft' : 'numbers'}>{money(usd)}</span>
}
