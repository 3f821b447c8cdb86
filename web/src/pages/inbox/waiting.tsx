import { Button } from '@mantine/core'
import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import type { Agent } from '../../../../src/contract/agents.ts'
import type { Approval } from '../../../../src/contract/approvals.ts'
import { ApprovalCard } from '../../parts/approval-card.tsx'
import { Time } from '../../parts/figures.tsx'
import { Empty, Loading, NoMatch, ProblemBlock } from '../../parts/page-state.tsx'
import { SafeText } from '../../parts/safe-text.tsx'
import css from './inbox.module.css'
import { approvalsQuery } from './queries.ts'

interface Props {
  readonly agent: string | undefined
  /** Approval to show first in the view. */
  readonly open: string | undefined
  readonly agents: readonly Pick<Agent, 'id' | 'name' | 'harness'>[]
  readonly onClear: () => void
}

/** Approvals that wait, the oldest first. */
export function Waiting({ agent, open, agents, onClear }: Props) {
  const queries = useQueryClient()
  const { data, error, isPending, refetch, hasNextPage, fetchNextPage } = useInfiniteQuery(approvalsQuery(true, agent))
  const approvals = data?.pages.flatMap(page => page.approvals) ?? []
  const opened = useRef<HTMLDivElement>(null)
  const isOpenLoaded = approvals.some(({ id }) => id === open)
  useEffect(() => {
    if (isOpenLoaded) opened.current?.scrollIntoView({ block: 'nearest' })
  }, [isOpenLoaded])

  if (isPending) return <Loading />
  if (error && approvals.length === 0) {
    return <ProblemBlock error={error} what="load approvals" retry={() => void refetch()} />
  }
  if (approvals.length === 0 && agent !== undefined) return <NoMatch what="approvals" onClear={onClear} />
  if (approvals.length === 0) {
    return (
      <Empty title="No pending approvals" link={<Link to="/console/agents">Open agents</Link>}>
        When an agent calls a tool whose policy is “ask”, the call waits here until a person approves or denies it.
      </Empty>
    )
  }
  const refresh = () =>
    Promise.all([
      queries.invalidateQueries({ queryKey: ['approvals'] }),
      queries.invalidateQueries({ queryKey: ['overview'] }),
    ])
  return (
    <div className={css.cards}>
      {approvals.map(approval => {
        const of = agents.find(({ id }) => id === approval.agent_id)
        return (
          <div
            key={approval.id}
            ref={approval.id === open ? opened : undefined}
            data-open={approval.id === open || undefined}
          >
            <ApprovalCard
              approval={approval}
              canEdit={of === undefined || of.harness === 'builtin'}
              place={<Place approval={approval} agent={of?.name} />}
              onAnswer={() => void refresh()}
            />
          </div>
        )
      })}
      {hasNextPage && (
        <Button variant="default" onClick={() => void fetchNextPage()}>
          Show more approvals
        </Button>
      )}
    </div>
  )
}

/** The session of an approval, opened at the call. */
function Place({ approval, agent }: { readonly approval: Approval; readonly agent: string | undefined }) {
  const { session_id: sessionId, session_title: title, id, created_at: at } = approval
  return (
    <span>
      <Link to="/console/sessions/$sessionId" params={{ sessionId }} search={{ event: id }}>
        <SafeText text={title === '' ? sessionId : title} />
      </Link>
      {agent !== undefined && (
        <>
          {' · '}
          <SafeText text={agent} />
        </>
      )}
      {' · waits since '}
      <Time at={at} />
    </span>
  )
}
