import { Link } from '@tanstack/react-router'
import type { FailedSession } from '../../../../src/contract/console.ts'
import { Time } from '../../parts/figures.tsx'
import { plural } from '../../parts/format.ts'
import { InlineCode } from '../../parts/inline-code.tsx'
import { SafeText } from '../../parts/safe-text.tsx'
import { StatePill } from '../../parts/state-pill.tsx'
import { Card } from './card.tsx'
import { causesOf } from './causes.ts'
import css from './overview.module.css'

/** Failures of the last 24 hours by cause, with the next step. */
export function WentWrong({ failures }: { readonly failures: readonly FailedSession[] }) {
  const causes = causesOf(failures)
  return (
    <Card title="Went wrong in 24 h" quiet={causes.length === 0 ? 'No session failed.' : undefined}>
      {causes.map(({ type, nextStep, sessions }) => (
        <div key={type} className={css.row}>
          <StatePill state="failed" word={plural(sessions.length, 'session')} />
          <div className={css.grow}>
            <div>
              <SafeText text={sessions[0]?.message ?? type} />
            </div>
            <div className="soft">
              <InlineCode text={nextStep} />
            </div>
          </div>
          {sessions.slice(0, 3).map(({ session_id: id, title, failed_at: at }) => (
            <span key={id}>
              <Link to="/console/sessions/$sessionId" params={{ sessionId: id }}>
                <SafeText text={title === '' ? id : title} />
              </Link>{' '}
              <Time at={at} />
            </span>
          ))}
          {sessions.length > 3 && (
            <Link to="/console/sessions" search={{ status: 'error' }}>
              {sessions.length - 3} more
            </Link>
          )}
        </div>
      ))}
    </Card>
  )
}
