import type { Delivery } from '../../../../../src/contract/webhooks.ts'
import type { Column } from '../../../parts/data-table.tsx'
import { Time } from '../../../parts/figures.tsx'
import { bytes, duration } from '../../../parts/format.ts'
import { SafeText } from '../../../parts/safe-text.tsx'
import { StatePill } from '../../../parts/state-pill.tsx'
import { TextLink } from '../../../parts/text-link.tsx'
import { deliveryStates, idHeaderOf, kinds, latencyOf } from './delivery-state.ts'

interface Options {
  readonly nameOfAgent: (id: string) => string
  readonly isBesidePanel: boolean
}

/** Columns of the log; beside an open delivery only those that fit. */
export const columnsFor = ({ nameOfAgent, isBesidePanel }: Options): readonly Column<Delivery>[] =>
  all(nameOfAgent).filter(({ key }) => !isBesidePanel || !leftOut.has(key))

const leftOut: ReadonlySet<string> = new Set(['id', 'size', 'latency', 'session', 'kind'])

const all = (nameOfAgent: Options['nameOfAgent']): readonly Column<Delivery>[] => [
  { key: 'time', title: 'Time', width: '70px', cell: ({ received_at }) => <Time at={received_at} /> },
  {
    key: 'outcome',
    title: 'Outcome',
    width: '110px',
    cell: ({ status }) => <StatePill {...deliveryStates[status]} />,
  },
  {
    key: 'reason',
    title: 'Reason',
    width: 'minmax(90px, 1fr)',
    isNarrow: false,
    cell: ({ error }) => error !== null && <SafeText text={error} />,
  },
  {
    key: 'event',
    title: 'Event',
    width: 'minmax(110px, 1fr)',
    isMain: true,
    cell: ({ event }) => (event === null ? <span className="soft">no name</span> : <SafeText text={event} />),
  },
  {
    key: 'agent',
    title: 'Agent',
    width: 'minmax(100px, 1fr)',
    isNarrow: false,
    cell: ({ agent_id }) => <SafeText text={nameOfAgent(agent_id)} />,
  },
  {
    key: 'id',
    title: 'Delivery id',
    width: 'minmax(140px, 1.2fr)',
    isNarrow: false,
    cell: delivery => (
      <>
        <span className="mono">
          <SafeText text={delivery.request_id} />
        </span>{' '}
        <span className="soft">{idHeaderOf(delivery) ?? ''}</span>
      </>
    ),
  },
  { key: 'kind', title: 'From', width: '70px', isNarrow: false, cell: ({ kind }) => kinds[kind] },
  {
    key: 'size',
    title: 'Payload',
    width: '80px',
    align: 'end',
    isNarrow: false,
    cell: ({ payload_bytes }) => <span className="numbers">{bytes(payload_bytes)}</span>,
  },
  {
    key: 'latency',
    title: 'Latency',
    width: '80px',
    align: 'end',
    isNarrow: false,
    cell: delivery => {
      const ms = latencyOf(delivery)
      return <span className="numbers">{ms === undefined ? '–' : duration(ms)}</span>
    },
  },
  {
    key: 'session',
    title: 'Session',
    width: '100px',
    align: 'end',
    isNarrow: false,
    cell: ({ session_id }) =>
      session_id === '' ? (
        <span className="soft">none</span>
      ) : (
        <TextLink
          to="/console/sessions/$sessionId"
          params={{ sessionId: session_id }}
          search={{}}
          onClick={event => event.stopPropagation()}
        >
          Open session
        </TextLink>
      ),
  },
]
