import { Link } from '@tanstack/react-router'
import { useIsAdmin } from '../../../data/sign-in.tsx'
import { Elapsed } from '../../../parts/figures.tsx'
import { duration } from '../../../parts/format.ts'
import { useNow } from '../../../parts/now.ts'
import { StatePill } from '../../../parts/state-pill.tsx'
import type { Status } from '../../../session-log/status.ts'
import css from './header.module.css'
import { statusText } from './status-text.ts'

const isRunning = (status: Status): boolean =>
  !['idle', 'stopped', 'failed'].includes(status.word) && status.since !== undefined

/** What the session does or waits for, and since when. */
export function StatusLine({ status }: { readonly status: Status }) {
  const isAdmin = useIsAdmin()
  const { state, word, detail } = statusText(status)
  return (
    <div className={css.status} data-testid="status">
      <StatePill state={state} word={word} detail={detail} />
      {isRunning(status) && (
        <span className="soft">
          <Elapsed since={status.since} />
        </span>
      )}
      {status.word === 'retrying' && <Countdown to={status.nextAt} />}
      {isAdmin && status.word === 'paused: budget' && <Link to="/console/budgets">Raise limit</Link>}
    </div>
  )
}

/** Time until an instant, running; empty once it is over. */
export function Countdown({
  to,
  before = 'next try in',
}: {
  readonly to: string | undefined
  readonly before?: string
}) {
  const now = useNow()
  const left = to === undefined ? 0 : Date.parse(to) - now
  if (left <= 0) return null
  return (
    <span className="soft numbers">
      {before} {duration(Math.ceil(left / 1000) * 1000)}
    </span>
  )
}
