import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { Approval } from '../../../../src/contract/approvals.ts'
import { nextPageOf } from '../../data/next-page.ts'
import { Arguments } from '../../parts/arguments.tsx'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { Facts } from '../../parts/facts.tsx'
import { Time } from '../../parts/figures.tsx'
import { Empty, Loading, NoMatch, ProblemBlock } from '../../parts/page-state.tsx'
import { SafeText } from '../../parts/safe-text.tsx'
import { SidePanel, WithPanel } from '../../parts/side-panel.tsx'
import { StatePill } from '../../parts/state-pill.tsx'
import type { StateName } from '../../theme.ts'
import { approvalsQuery } from './queries.ts'

interface Props {
  readonly agent: string | undefined
  readonly open: string | undefined
  readonly onOpen: (id: string | undefined) => void
  readonly onClear: () => void
}

const states: Readonly<Record<Approval['state'], readonly [StateName, string]>> = {
  pending: ['attention', 'waiting'],
  allowed: ['done', 'approved'],
  denied: ['stopped', 'denied'],
  expired: ['failed', 'expired'],
  cancelled: ['stopped', 'cancelled'],
}

function State({ approval }: { readonly approval: Approval }) {
  const [state, word] = states[approval.state]
  const isEdited = approval.edited_input !== null
  return <StatePill state={state} word={word} detail={isEdited ? 'with edited arguments' : undefined} />
}

const columns: readonly Column<Approval>[] = [
  { key: 'state', title: 'State', width: 'minmax(160px, 1fr)', cell: approval => <State approval={approval} /> },
  { key: 'tool', title: 'Tool', width: 'minmax(90px, 1fr)', cell: ({ name }) => <SafeText text={name} /> },
  {
    key: 'input',
    title: 'Arguments',
    width: 'minmax(160px, 3fr)',
    isNarrow: false,
    cell: ({ input }) => (
      <span className="mono">
        <SafeText text={JSON.stringify(input) ?? ''} />
      </span>
    ),
  },
  {
    key: 'by',
    title: 'Decided by',
    width: 'minmax(90px, 1fr)',
    isNarrow: false,
    cell: ({ decided_by: by }) => (by === null ? <span className="soft">not decided</span> : <SafeText text={by} />),
  },
  {
    key: 'at',
    title: 'When',
    width: '72px',
    align: 'end',
    cell: ({ decided_at, created_at }) => <Time at={decided_at ?? created_at} />,
  },
]

/** Answered, expired and cancelled approvals, the newest first. */
export function History({ agent, open, onOpen, onClear }: Props) {
  const history = useInfiniteQuery(approvalsQuery(false, agent))
  const { data, error, isPending, refetch } = history
  const approvals = data?.pages.flatMap(page => page.approvals) ?? []
  if (isPending) return <Loading />
  if (error && approvals.length === 0) {
    return <ProblemBlock error={error} what="load the history" retry={() => void refetch()} />
  }
  if (approvals.length === 0 && agent !== undefined) return <NoMatch what="approvals" onClear={onClear} />
  if (approvals.length === 0)
    return <Empty title="No approval was answered yet">Answers stay here with who gave them.</Empty>
  const opened = approvals.find(({ id }) => id === open)
  return (
    <WithPanel panel={opened && <Panel key={opened.id} approval={opened} onClose={() => onOpen(undefined)} />}>
      <DataTable
        label="Answered approvals"
        rows={approvals}
        columns={columns}
        keyOf={({ id }) => id}
        selected={open}
        onOpen={({ id }) => onOpen(id)}
        onEnd={nextPageOf(history)}
      />
    </WithPanel>
  )
}

function Panel({ approval, onClose }: { readonly approval: Approval; readonly onClose: () => void }) {
  const { session_id: sessionId, session_title: title, message, edited_input: edited } = approval
  return (
    <SidePanel title={`Approval of ${approval.name}`} onClose={onClose}>
      <Facts
        of={[
          ['State', <State key="state" approval={approval} />],
          [
            'Session',
            <Link
              key="session"
              to="/console/sessions/$sessionId"
              params={{ sessionId }}
              search={{ event: approval.id }}
            >
              <SafeText text={title === '' ? sessionId : title} />
            </Link>,
          ],
          ['Decided by', approval.decided_by ?? 'not decided'],
          ['Decided', <Time key="decided" at={approval.decided_at} absent="not decided" />],
          ['Asked', <Time key="asked" at={approval.created_at} />],
          ['Expires', <Time key="expires" at={approval.expires_at} />],
          ['Reason', message !== null && <SafeText key="reason" text={message} />],
        ]}
      />
      <h3>Arguments of the model</h3>
      <Arguments input={approval.input} />
      {edited !== null && (
        <>
          <h3>Arguments of the call</h3>
          <Arguments input={edited} />
        </>
      )}
    </SidePanel>
  )
}
