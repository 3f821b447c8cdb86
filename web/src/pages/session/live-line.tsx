import { Button } from '@mantine/core'
import { useEffect, useState } from 'react'
import { Elapsed } from '../../parts/figures.tsx'
import { plural, timeOfDay } from '../../parts/format.ts'
import { useNow } from '../../parts/now.ts'
import { ProblemLine } from '../../parts/page-state.tsx'
import css from './live-line.module.css'
import type { CatchUp, Connection } from './log/log-state.ts'

interface Props {
  readonly connection: Connection
  readonly caughtUp: CatchUp | undefined
  readonly onRetry: () => void
}

/** Quick reconnects do not flicker; the banner comes within 3 s. */
const graceMs = 700

/** The end of the transcript: whether it is live, what it waits for, and what was caught up after a loss. */
export function LiveLine({ connection, caughtUp, onRetry }: Props) {
  const isLost = useLasting(connection.name === 'lost', graceMs)
  if (connection.name === 'failed') return <LoadFailed error={connection.error} onRetry={onRetry} />
  if (connection.name === 'lost' && isLost) return <Lost connection={connection} onRetry={onRetry} />
  const [mark, text] = words[connection.name]
  return (
    <div className={css.line} role="status" data-testid="live" data-state={mark}>
      <span className={css.dot} aria-hidden />
      <span>{text}</span>
      {caughtUp && <CaughtUp catchUp={caughtUp} />}
    </div>
  )
}

const words: Readonly<Record<Exclude<Connection['name'], 'failed'>, readonly [mark: string, text: string]>> = {
  loading: ['waiting', 'loading'],
  connecting: ['waiting', 'connecting'],
  lost: ['live', 'live'],
  live: ['live', 'live'],
  asleep: ['waiting', 'paused while the tab was hidden'],
  ended: ['ended', 'the session was deleted; there will be no further events'],
}

function Lost({
  connection,
  onRetry,
}: {
  readonly connection: Connection & { name: 'lost' }
  readonly onRetry: () => void
}) {
  const now = useNow()
  const { since, retryAt, reason } = connection
  const left = retryAt === undefined ? 0 : Math.max(0, retryAt - now)
  return (
    <div className={css.banner} role="alert" data-testid="connection-lost">
      <span className={css.dot} aria-hidden />
      <span className={css.bannerText}>
        <b>Connection lost</b> for <Elapsed since={since} />: {reason}. What you see may be out of date.
      </span>
      <span className="numbers">{left > 0 ? `Trying again in ${Math.ceil(left / 1000)} s` : 'Trying again'}</span>
      <Button size="compact-xs" variant="default" onClick={onRetry}>
        Reconnect now
      </Button>
    </div>
  )
}

function CaughtUp({ catchUp: { events, missed, gaps, at } }: { readonly catchUp: CatchUp }) {
  const time = timeOfDay(at)
  return (
    <span className={css.caughtUp} data-testid="caught-up">
      reconnected at {time}: {plural(events, 'event')} caught up, {missed} missed
      {gaps.length > 0 && `; event ${gaps.join(', ')} had been skipped and was loaded again: report this as a bug`}
    </span>
  )
}

/** Events that could not be loaded, with the error. */
export function LoadFailed({ error, onRetry }: { readonly error: unknown; readonly onRetry: () => void }) {
  return (
    <div className={css.banner}>
      <div className={css.bannerText}>
        <ProblemLine error={error} />
      </div>
      <Button size="compact-xs" variant="default" onClick={onRetry}>
        Load again
      </Button>
    </div>
  )
}

/** Returns true once `value` has been true for `ms`. */
function useLasting(value: boolean, ms: number): boolean {
  const [isLasting, setLasting] = useState(false)
  useEffect(() => {
    if (!value) return setLasting(false)
    const timer = setTimeout(() => setLasting(true), ms)
    return () => clearTimeout(timer)
  }, [value, ms])
  return value && isLasting
}
