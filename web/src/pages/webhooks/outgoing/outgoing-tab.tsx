import { Button, SegmentedControl } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import type { WebhookEndpoint } from '../../../../../src/contract/webhook-endpoints.ts'
import { nextPageOf } from '../../../data/next-page.ts'
import { useAddress } from '../../../parts/address.ts'
import { type Column, DataTable } from '../../../parts/data-table.tsx'
import { Time } from '../../../parts/figures.tsx'
import { ChangeDialog } from '../../../parts/may-change.tsx'
import { Empty, Loading, ProblemBlock } from '../../../parts/page-state.tsx'
import { SafeText } from '../../../parts/safe-text.tsx'
import { WithPanel } from '../../../parts/side-panel.tsx'
import { StatePill } from '../../../parts/state-pill.tsx'
import { endpointsQuery } from '../queries.ts'
import css from '../webhooks.module.css'
import { CreateEndpoint } from './endpoint-form.tsx'
import { EndpointPanel } from './endpoint-panel.tsx'
import { endpointState } from './endpoint-state.ts'
import { Replies } from './replies.tsx'

/** Receivers of session events, and the answers that went back to senders. */
export function OutgoingTab() {
  const [{ view, open, create }, setAddress] = useAddress<'view' | 'open' | 'create' | 'state'>()
  const closeForm = () => setAddress({ create: undefined })
  const isReplies = view === 'replies'
  return (
    <>
      <div className={css.filters}>
        <SegmentedControl
          size="xs"
          aria-label="What is sent"
          data={[
            { value: 'endpoints', label: 'Endpoints' },
            { value: 'replies', label: 'Replies to senders' },
          ]}
          value={isReplies ? 'replies' : 'endpoints'}
          onChange={next =>
            setAddress({ view: next === 'replies' ? next : undefined, open: undefined, state: undefined })
          }
        />
      </div>
      {isReplies ? (
        <Replies />
      ) : (
        <WithPanel
          panel={
            open !== undefined && (
              <EndpointPanel key={open} id={open} onClose={() => setAddress({ open: undefined, state: undefined })} />
            )
          }
        >
          <Endpoints open={open} />
        </WithPanel>
      )}
      {create !== undefined && (
        <ChangeDialog title="Create endpoint" right="Viewers cannot create endpoints" onClose={closeForm}>
          <CreateEndpoint onClose={closeForm} onCreated={({ id }) => setAddress({ create: undefined, open: id })} />
        </ChangeDialog>
      )}
    </>
  )
}

function Endpoints({ open }: { readonly open: string | undefined }) {
  const [, setAddress] = useAddress<'open' | 'create' | 'state'>()
  const list = useInfiniteQuery(endpointsQuery)
  const { data, error, refetch } = list
  const rows = data?.pages.flatMap(({ endpoints }) => endpoints)
  if (!rows) {
    return error ? <ProblemBlock error={error} what="load the endpoints" retry={() => void refetch()} /> : <Loading />
  }
  if (rows.length === 0) {
    return (
      <Empty
        title="No endpoints"
        action={<Button onClick={() => setAddress({ create: '1' })}>Create endpoint</Button>}
        link={<a href="/docs">Read the API reference</a>}
      >
        An endpoint is an address of yours that gets the events of sessions, such as an answer or an error, signed and
        in order.
      </Empty>
    )
  }
  return (
    <DataTable<WebhookEndpoint>
      label="Endpoints"
      rows={rows}
      columns={open === undefined ? columns : columns.filter(({ key }) => !leftOut.has(key))}
      keyOf={({ id }) => id}
      selected={open}
      onOpen={({ id }) => setAddress({ open: id, state: undefined }, { isStep: true })}
      onEnd={nextPageOf(list)}
    />
  )
}

const leftOut: ReadonlySet<string> = new Set(['owner', 'created', 'agents'])

const columns: readonly Column<WebhookEndpoint>[] = [
  {
    key: 'url',
    title: 'Address',
    width: 'minmax(200px, 2fr)',
    cell: ({ url, description }) => (
      <>
        <SafeText text={url} />{' '}
        {description !== null && (
          <span className="soft">
            <SafeText text={description} />
          </span>
        )}
      </>
    ),
  },
  {
    key: 'state',
    title: 'State',
    width: 'minmax(110px, 1fr)',
    cell: endpoint => <StatePill {...endpointState(endpoint)} />,
  },
  {
    key: 'events',
    title: 'Events',
    width: 'minmax(140px, 1.5fr)',
    isNarrow: false,
    cell: ({ events }) => (events.length === 0 ? <span className="soft">all</span> : events.join(', ')),
  },
  {
    key: 'agents',
    title: 'Agents',
    width: '80px',
    align: 'end',
    isNarrow: false,
    cell: ({ agent_ids }) => (agent_ids.length === 0 ? <span className="soft">all</span> : agent_ids.length),
  },
  {
    key: 'owner',
    title: 'Owner',
    width: 'minmax(80px, 1fr)',
    isNarrow: false,
    cell: ({ owner_id }) => (owner_id === null ? <span className="soft">all</span> : <SafeText text={owner_id} />),
  },
  {
    key: 'created',
    title: 'Created',
    width: '80px',
    align: 'end',
    isNarrow: false,
    cell: ({ created_at }) => <Time at={created_at} />,
  },
]
