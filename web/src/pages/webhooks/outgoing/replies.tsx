import { useInfiniteQuery } from '@tanstack/react-query'
import type { WebhookReply } from '../../../../../src/contract/webhook-replies.ts'
import { nextPageOf } from '../../../data/next-page.ts'
import { useAddress } from '../../../parts/address.ts'
import { type Column, DataTable } from '../../../parts/data-table.tsx'
import { Time } from '../../../parts/figures.tsx'
import { ChoiceFilter, FilterChips } from '../../../parts/filters.tsx'
import { Empty, Loading, NoMatch, ProblemBlock } from '../../../parts/page-state.tsx'
import { SafeText } from '../../../parts/safe-text.tsx'
import { StatePill } from '../../../parts/state-pill.tsx'
import { TextLink } from '../../../parts/text-link.tsx'
import { repliesQuery } from '../queries.ts'
import css from '../webhooks.module.css'
import { replyStates, replyTargets } from './endpoint-state.ts'

const states = Object.keys(replyStates) as WebhookReply['state'][]

/** Answers that went back to the issue, thread or address of a delivery. */
export function Replies() {
  const [{ state: named }, setAddress] = useAddress<'state'>()
  const state = states.find(each => each === named)
  const log = useInfiniteQuery(repliesQuery(state))
  const rows = log.data?.pages.flatMap(({ replies }) => replies)
  const clear = () => setAddress({ state: undefined })
  return (
    <>
      <div className={css.filters}>
        <ChoiceFilter
          label="State of the reply"
          value={state}
          options={states.map(value => ({ value, label: replyStates[value].word }))}
          onChange={next => setAddress({ state: next })}
        />
        <FilterChips active={{ state }} onRemove={clear} onClear={clear} />
      </div>
      {!rows &&
        (log.error ? (
          <ProblemBlock error={log.error} what="load the replies" retry={() => void log.refetch()} />
        ) : (
          <Loading />
        ))}
      {rows?.length === 0 &&
        (state === undefined ? (
          <Empty title="No replies">
            With a reply in the set-up of a webhook, the answer of the agent goes back to the GitHub issue, the Slack
            thread or an address of yours.
          </Empty>
        ) : (
          <NoMatch what="replies" onClear={clear} />
        ))}
      {rows && rows.length > 0 && (
        <DataTable<WebhookReply>
          label="Replies"
          rows={rows}
          columns={columns}
          keyOf={({ id }) => id}
          onEnd={nextPageOf(log)}
        />
      )}
    </>
  )
}

const targetOf = ({ target, type }: WebhookReply): string =>
  `${replyTargets[type]} ${Object.values(target)
    .filter(value => typeof value === 'string' || typeof value === 'number')
    .join(' ')}`

const columns: readonly Column<WebhookReply>[] = [
  { key: 'time', title: 'Time', width: '80px', cell: ({ created_at }) => <Time at={created_at} /> },
  {
    key: 'state',
    title: 'State',
    width: 'minmax(140px, 1.5fr)',
    cell: ({ state, error }) => <StatePill {...replyStates[state]} detail={error ?? undefined} />,
  },
  { key: 'kind', title: 'Reply', width: '90px', isNarrow: false, cell: ({ kind }) => kind },
  {
    key: 'target',
    title: 'To',
    width: 'minmax(160px, 2fr)',
    cell: reply => <SafeText text={targetOf(reply)} />,
  },
  {
    key: 'attempts',
    title: 'Attempts',
    width: '80px',
    align: 'end',
    isNarrow: false,
    cell: ({ attempts }) => <span className="numbers">{attempts}</span>,
  },
  {
    key: 'next',
    title: 'Next attempt',
    width: '100px',
    align: 'end',
    isNarrow: false,
    cell: ({ next_attempt_at }) => <Time at={next_attempt_at} absent="–" />,
  },
  {
    key: 'session',
    title: 'Session',
    width: '110px',
    align: 'end',
    isNarrow: false,
    cell: ({ session_id }) => (
      <TextLink to="/console/sessions/$sessionId" params={{ sessionId: session_id }} search={{}}>
        Open session
      </TextLink>
    ),
  },
]
