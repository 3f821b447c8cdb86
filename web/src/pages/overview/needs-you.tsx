import { Anchor } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { Overview } from '../../../../src/contract/console.ts'
import { Time } from '../../parts/figures.tsx'
import { SafeText } from '../../parts/safe-text.tsx'
import { StatePill } from '../../parts/state-pill.tsx'
import { Card } from './card.tsx'
import css from './overview.module.css'

/** Approvals that wait for a person, the oldest first. */
export function NeedsYou({ approvals: { pending, oldest } }: { readonly approvals: Overview['approvals'] }) {
  return (
    <Card
      title="Needs you"
      quiet={pending === 0 ? 'No approval waits.' : undefined}
      beside={
        pending > 0 && (
          <Anchor component={Link} to="/console/inbox" size="sm">
            Open inbox ({pending})
          </Anchor>
        )
      }
    >
      {oldest.map(({ id, session_id: sessionId, name, input, expires_at: expiresAt }) => (
        <div key={id} className={css.row}>
          <StatePill state="attention" word="approval" />
          <Link to="/console/inbox" search={{ open: id }} className={`${css.grow} clip`}>
            <b>{name}</b> <SafeText text={JSON.stringify(input) ?? ''} />
          </Link>
          <Link to="/console/sessions/$sessionId" params={{ sessionId }} search={{ event: id }}>
            Open session
          </Link>
          <span className="soft">
            expires <Time at={expiresAt} />
          </span>
        </div>
      ))}
    </Card>
  )
}
