import { Button } from '@mantine/core'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { Delivery, DeliveryStatus } from '../../../../../src/contract/webhooks.ts'
import { agentChoicesQuery } from '../../../data/agents.ts'
import { useAgentNames } from '../../../data/names.ts'
import { nextPageOf } from '../../../data/next-page.ts'
import { useAddress } from '../../../parts/address.ts'
import { DataTable } from '../../../parts/data-table.tsx'
import { ChoiceFilter, FilterChips, SearchFilter } from '../../../parts/filters.tsx'
import { Empty, Loading, NoMatch, ProblemBlock } from '../../../parts/page-state.tsx'
import { WithPanel } from '../../../parts/side-panel.tsx'
import { deliveriesQuery } from '../queries.ts'
import css from '../webhooks.module.css'
import { columnsFor } from './columns.tsx'
import { Counts } from './counts.tsx'
import { DeliveryPanel } from './delivery-panel.tsx'
import { deliveryStates } from './delivery-state.ts'

type Names = 'agent' | 'status' | 'id' | 'session' | 'open' | 'tab' | 'test'

const statuses = Object.keys(deliveryStates) as DeliveryStatus[]

/** The log of deliveries: what came in, what became of it, and why something was refused. */
export function DeliveriesTab() {
  const [{ agent, status, id, session, open }, setAddress] = useAddress<Names>()
  const { data: agents = [] } = useQuery(agentChoicesQuery)
  const clear = () => setAddress({ agent: undefined, status: undefined, id: undefined, session: undefined })
  const filters = { agent, status: statuses.find(each => each === status), id, session }
  return (
    <>
      <div className={css.filters}>
        <SearchFilter label="Delivery id" value={id} onChange={next => setAddress({ id: next })} />
        <ChoiceFilter
          label="Agent"
          value={agent}
          options={agents.map(({ id: value, name }) => ({ value, label: name }))}
          onChange={next => setAddress({ agent: next })}
        />
        <ChoiceFilter
          label="Outcome"
          value={status}
          options={statuses.map(value => ({ value, label: deliveryStates[value].word }))}
          onChange={next => setAddress({ status: next })}
        />
        <FilterChips
          active={{ agent: agents.find(each => each.id === agent)?.name ?? agent, outcome: status, id, session }}
          onRemove={name => setAddress({ [name === 'outcome' ? 'status' : name]: undefined })}
          onClear={clear}
        />
      </div>
      <Counts agentId={agent} />
      <WithPanel
        panel={
          open !== undefined && <DeliveryPanel key={open} id={open} onClose={() => setAddress({ open: undefined })} />
        }
      >
        <Log filters={filters} open={open} onClear={clear} />
      </WithPanel>
    </>
  )
}

interface LogProps {
  readonly filters: {
    readonly agent: string | undefined
    readonly status: DeliveryStatus | undefined
    readonly id: string | undefined
    readonly session: string | undefined
  }
  readonly open: string | undefined
  readonly onClear: () => void
}

function Log({ filters, open, onClear }: LogProps) {
  const [, setAddress] = useAddress<Names>()
  const names = useAgentNames()
  const columns = useMemo(
    () => columnsFor({ nameOfAgent: id => names.get(id) ?? id, isBesidePanel: open !== undefined }),
    [names, open],
  )
  const log = useInfiniteQuery(deliveriesQuery(filters))
  const rows = log.data?.pages.flatMap(({ deliveries }) => deliveries)
  if (!rows) {
    return log.error ? (
      <ProblemBlock error={log.error} what="load the deliveries" retry={() => void log.refetch()} />
    ) : (
      <Loading />
    )
  }
  if (rows.length === 0 && Object.values(filters).some(value => value !== undefined))
    return <NoMatch what="deliveries" onClear={onClear} />
  if (rows.length === 0) {
    return (
      <Empty
        title="No deliveries yet"
        action={
          <Button variant="default" onClick={() => setAddress({ test: '1' })}>
            Send test delivery
          </Button>
        }
      >
        Each request of a sender with a valid token or signature appears here for 7 days, with its payload and the
        session that it started.
      </Empty>
    )
  }
  return (
    <DataTable<Delivery>
      label="Deliveries"
      rows={rows}
      columns={columns}
      keyOf={({ id }) => id}
      selected={open}
      onOpen={({ id }) => setAddress({ open: id }, { isStep: true })}
      onEnd={nextPageOf(log)}
    />
  )
}
