import { Button } from '@mantine/core'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { shownActivity } from '../../../../parts/activity.ts'
import { Elapsed, Money, Time } from '../../../../parts/figures.tsx'
import { shortId } from '../../../../parts/format.ts'
import { Empty, Loading, ProblemBlock, ProblemLine } from '../../../../parts/page-state.tsx'
import { SafeText } from '../../../../parts/safe-text.tsx'
import { StatePill } from '../../../../parts/state-pill.tsx'
import { sessionQuery } from '../../queries.ts'
import css from '../inspector.module.css'
import type { InspectorProps } from '../inspector-props.ts'
import { childrenQuery } from './queries.ts'
import threads from './threads.module.css'

/** The sessions of called agents, with what each does and costs. */
export function ThreadsTab({ sessionId }: InspectorProps) {
  const query = useInfiniteQuery(childrenQuery(sessionId))
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = query
  if (error && !data) return <ProblemBlock error={error} what="load the threads" retry={() => void refetch()} />
  if (!data) return <Loading />
  const children = data.pages.flatMap(page => page.data)
  if (children.length === 0) {
    return (
      <Empty title="No threads" link={<a href="/docs">API reference</a>}>
        When the agent calls another agent, that agent works in a separate session, which appears here.
      </Empty>
    )
  }
  return (
    <div className={css.scroller}>
      <ProblemLine error={error} />
      <ul className={threads.list}>
        {children.map(({ id, title }) => (
          <Thread key={id} id={id} title={title} />
        ))}
      </ul>
      {hasNextPage && (
        <Button variant="default" loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>
          Load older threads
        </Button>
      )}
    </div>
  )
}

function Thread({ id, title }: { readonly id: string; readonly title: string }) {
  const { data: session, error } = useQuery(sessionQuery(id))
  return (
    <li className={threads.thread}>
      <Link to="/console/sessions/$sessionId" params={{ sessionId: id }} className={threads.title ?? ''}>
        <SafeText text={title === '' ? shortId(id) : title} />
      </Link>
      <ProblemLine error={error} />
      {session && (
        <div className={threads.facts}>
          <Activity session={session} />
          <SafeText text={session.agent_name ?? shortId(session.agent_id)} />
          <Money usd={session.cost_usd ?? (session.requests === 0 ? 0 : null)} />
          <span className="soft">
            <Time at={session.created_at} />
          </span>
        </div>
      )}
    </li>
  )
}

function Activity({ session }: { readonly session: Parameters<typeof shownActivity>[0] }) {
  const { state, word, detail, since } = shownActivity(session)
  return (
    <span className={threads.state}>
      <StatePill state={state} word={word} detail={detail} />
      {since !== undefined && <Elapsed since={since} />}
    </span>
  )
}
