import { Anchor } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { Overview } from '../../../../src/contract/console.ts'
import { useMayChange } from '../../data/sign-in.tsx'
import { ApprovalCard } from '../../parts/approval-card.tsx'
import { SafeText } from '../../parts/safe-text.tsx'
import { Card } from './card.tsx'
import css from './overview.module.css'

/** Approvals that wait for a person, the oldest first, with their answers. Arguments are edited in the inbox. */
export function NeedsYou({ approvals: { pending, oldest } }: { readonly approvals: Overview['approvals'] }) {
  const queries = useQueryClient()
  const mayChange = useMayChange()
  return (
    <Card
      title={mayChange ? 'Needs you' : 'Waiting for approval'}
      quiet={pending === 0 ? 'No pending approvals.' : undefined}
      beside={
        pending > 0 && (
          <Anchor component={Link} to="/console/inbox" size="sm">
            Open inbox ({pending})
          </Anchor>
        )
      }
    >
      {oldest.map(approval => (
        <div key={approval.id} className={css.approval}>
          <ApprovalCard
            approval={approval}
            canEdit={false}
            place={
              <Link
                to="/console/sessions/$sessionId"
                params={{ sessionId: approval.session_id }}
                search={{ event: approval.id }}
              >
                <SafeText text={approval.session_title === '' ? approval.session_id : approval.session_title} />
              </Link>
            }
            onAnswer={() => void queries.invalidateQueries({ queryKey: ['overview'] })}
          />
        </div>
      ))}
    </Card>
  )
}
