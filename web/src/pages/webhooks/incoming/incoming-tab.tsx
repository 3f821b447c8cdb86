import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { Agent } from '../../../../../src/contract/agents.ts'
import { useMayChange } from '../../../data/sign-in.tsx'
import { useAddress } from '../../../parts/address.ts'
import { type Column, DataTable } from '../../../parts/data-table.tsx'
import { ViewersCannot } from '../../../parts/may-change.tsx'
import { Empty, Loading, ProblemBlock } from '../../../parts/page-state.tsx'
import { SafeText } from '../../../parts/safe-text.tsx'
import { StatePill } from '../../../parts/state-pill.tsx'
import { TextLink } from '../../../parts/text-link.tsx'
import { receiversQuery, vaultNamesQuery } from '../queries.ts'
import { receiversOf } from './receivers.ts'
import { senderOf } from './senders.ts'
import { Setup } from './setup.tsx'
import { setupOf } from './setup-draft.ts'
import { StoredSetup } from './stored-setup.tsx'

/** The agents that get deliveries, or the set-up of one. */
export function IncomingTab() {
  const [{ agent, create }] = useAddress<'agent' | 'create'>()
  const mayChange = useMayChange()
  if (agent === undefined && create === undefined) return <Receivers />
  if (mayChange) return <Setup agentId={agent} />
  return agent === undefined ? (
    <ViewersCannot right="Viewers cannot set up webhooks" />
  ) : (
    <StoredSetup agentId={agent} />
  )
}

function Receivers() {
  const [, setAddress] = useAddress<'agent' | 'create'>()
  const agents = useQuery(receiversQuery)
  const { data: entries = [] } = useQuery(vaultNamesQuery)
  if (!agents.data) {
    return agents.error ? (
      <ProblemBlock error={agents.error} what="load the webhooks" retry={() => void agents.refetch()} />
    ) : (
      <Loading />
    )
  }
  const stored = new Set(entries.map(({ key }) => key))
  const rows = receiversOf(agents.data, stored)
  if (rows.length === 0) {
    return (
      <Empty
        title="No incoming webhooks"
        action={<Button onClick={() => setAddress({ create: '1' })}>Set up webhook</Button>}
        link={<a href="/docs">Read the API reference</a>}
      >
        A webhook turns an event of another program, such as an opened issue or a failed payment, into a session of an
        agent.
      </Empty>
    )
  }
  return (
    <DataTable<Agent>
      label="Incoming webhooks"
      rows={rows}
      columns={columnsFor(stored)}
      keyOf={({ id }) => id}
      onOpen={({ id }) => setAddress({ agent: id }, { isStep: true })}
    />
  )
}

const columnsFor = (stored: ReadonlySet<string>): readonly Column<Agent>[] => [
  { key: 'agent', title: 'Agent', width: 'minmax(140px, 1.5fr)', cell: ({ name }) => <SafeText text={name} /> },
  {
    key: 'state',
    title: 'State',
    width: 'minmax(120px, 1fr)',
    cell: agent => <State agent={agent} stored={stored} />,
  },
  {
    key: 'sender',
    title: 'Sender',
    width: 'minmax(110px, 1fr)',
    isNarrow: false,
    cell: agent => senderOf(setupOf(agent).sender).name,
  },
  {
    key: 'events',
    title: 'Starts for',
    width: 'minmax(140px, 1.5fr)',
    isNarrow: false,
    cell: agent => <Events agent={agent} />,
  },
  {
    key: 'conversation',
    title: 'Conversation',
    width: 'minmax(110px, 1fr)',
    isNarrow: false,
    cell: agent => setupOf(agent).conversation || <span className="soft">one session each</span>,
  },
  {
    key: 'deliveries',
    title: 'Deliveries',
    width: '100px',
    align: 'end',
    isNarrow: false,
    cell: ({ id }) => (
      <TextLink to="." search={{ tab: 'deliveries', agent: id }} onClick={event => event.stopPropagation()}>
        Show log
      </TextLink>
    ),
  },
]

interface StateProps {
  readonly agent: Agent
  readonly stored: ReadonlySet<string>
}

/** An entry of another owner is not visible, so that an absent one may exist; the test knows. */
function State({ agent, stored }: StateProps) {
  if (agent.status !== 'active') return <StatePill state="stopped" word={`agent ${agent.status}`} />
  return stored.has(setupOf(agent).entry) ? (
    <StatePill state="done" word="ready" />
  ) : (
    <StatePill state="waiting" word="secret not seen" />
  )
}

function Events({ agent }: Pick<StateProps, 'agent'>) {
  const { eventNames, conditions } = setupOf(agent)
  if (eventNames.length + conditions.length === 0) return <span className="soft">every delivery</span>
  const rest = conditions.length > 0 ? [`${conditions.length} more`] : []
  return <SafeText text={[...eventNames, ...rest].join(', ')} />
}
