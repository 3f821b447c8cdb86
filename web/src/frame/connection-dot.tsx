import { Tooltip } from '@mantine/core'
import { useOverview } from '../data/live.ts'
import { duration } from '../parts/format.ts'
import { useNow } from '../parts/now.ts'
import css from './connection-dot.module.css'

const staleMs = 12_000

/** Says whether the page is current: live, degraded, or since when it has no answer. */
export function ConnectionDot() {
  const { data, error, dataUpdatedAt } = useOverview()
  const now = useNow()
  const age = now - dataUpdatedAt
  const isLost = error !== null || (dataUpdatedAt > 0 && age > staleMs)
  const state = isLost ? 'failed' : data?.readiness.status === 'unavailable' ? 'waiting' : data ? 'running' : 'stopped'
  const word = { failed: 'offline', waiting: 'degraded', running: 'live', stopped: 'connecting' }[state]
  const detail = isLost
    ? `No answer from the service for ${duration(Math.max(0, age))}; trying again every 5 s`
    : (data?.readiness.reasons.join('; ') ?? '')
  return (
    <Tooltip label={detail === '' ? 'The service answers and is ready' : detail}>
      <span className={css.dot} data-state={state} tabIndex={0} role="status">
        <span className={css.mark} aria-hidden /> {word}
      </span>
    </Tooltip>
  )
}
