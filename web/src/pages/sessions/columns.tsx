import { Checkbox } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { SessionSummary } from '../../../../src/contract/session-summaries.ts'
import { shownActivity } from '../../parts/activity.ts'
import type { Column } from '../../parts/data-table.tsx'
import { Elapsed, Money, Time } from '../../parts/figures.tsx'
import { count } from '../../parts/format.ts'
import { SafeText } from '../../parts/safe-text.tsx'
import { StatePill } from '../../parts/state-pill.tsx'

interface Options {
  readonly selected: ReadonlySet<string>
  readonly toggle: (id: string) => void
  readonly hasOwner: boolean
}

/** Columns of the list: one line is one story. */
export function columnsOf({ selected, toggle, hasOwner }: Options): readonly Column<SessionSummary>[] {
  const owner: Column<SessionSummary> = {
    key: 'owner',
    title: 'Owner',
    width: '96px',
    isNarrow: false,
    cell: ({ owner_id }) => <SafeText text={owner_id} />,
  }
  return [
    {
      key: 'select',
      title: '',
      width: '20px',
      isNarrow: false,
      cell: ({ id, title }) => (
        <Checkbox
          size="xs"
          aria-label={`Select ${title === '' ? id : title}`}
          checked={selected.has(id)}
          onChange={() => toggle(id)}
          onClick={event => event.stopPropagation()}
        />
      ),
    },
    { key: 'state', title: 'State', width: 'minmax(180px, 1.2fr)', cell: session => <Activity session={session} /> },
    {
      key: 'title',
      title: 'Title',
      isMain: true,
      width: 'minmax(160px, 2fr)',
      cell: ({ id, title }) => (
        <Link to="/console/sessions/$sessionId" params={{ sessionId: id }} onClick={event => event.stopPropagation()}>
          <SafeText text={title === '' ? id : title} />
        </Link>
      ),
    },
    {
      key: 'agent',
      title: 'Agent',
      width: 'minmax(100px, 1fr)',
      isNarrow: false,
      cell: ({ agent_name: name, agent_version: version, runtime }) =>
        name === null ? (
          <span className="soft">{runtime}</span>
        ) : (
          <>
            <SafeText text={name} />
            {version !== null && <span className="soft">@{version}</span>}
          </>
        ),
    },
    ...(hasOwner ? [owner] : []),
    {
      key: 'waiting',
      title: 'Waiting',
      width: '60px',
      align: 'end',
      isNarrow: false,
      cell: ({ waiting_prompts: waiting }) => (waiting === 0 ? null : <span className="numbers">{waiting}</span>),
    },
    {
      key: 'tokens',
      title: 'Tokens',
      width: '72px',
      align: 'end',
      isNarrow: false,
      cell: ({ input_tokens, output_tokens }) => <span className="numbers">{count(input_tokens + output_tokens)}</span>,
    },
    {
      key: 'cost',
      title: 'Cost',
      width: '80px',
      align: 'end',
      isNarrow: false,
      cell: ({ cost_usd, requests }) => <Money usd={requests === 0 ? 0 : cost_usd} />,
    },
    { key: 'age', title: 'Created', width: '64px', align: 'end', cell: ({ created_at }) => <Time at={created_at} /> },
  ]
}

/** What a session does now, with the running time. */
function Activity({ session }: { readonly session: SessionSummary }) {
  const { state, word, detail, since } = shownActivity(session)
  return (
    <span style={{ display: 'flex', gap: 6, minWidth: 0 }}>
      <StatePill state={state} word={word} detail={detail} />
      {since !== undefined && <Elapsed since={since} />}
    </span>
  )
}
