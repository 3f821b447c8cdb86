import { Button } from '@mantine/core'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { ListedSchedule } from '../../../../src/contract/schedules.ts'
import { agentChoicesQuery } from '../../data/agents.ts'
import { useAgentNames } from '../../data/names.ts'
import { nextPageOf } from '../../data/next-page.ts'
import { useAddress } from '../../parts/address.ts'
import { DataTable } from '../../parts/data-table.tsx'
import { ChoiceFilter, FilterChips } from '../../parts/filters.tsx'
import { ChangeDialog, MayChange } from '../../parts/may-change.tsx'
import { Page } from '../../parts/page.tsx'
import { Empty, Loading, NoMatch, ProblemBlock } from '../../parts/page-state.tsx'
import { WithPanel } from '../../parts/side-panel.tsx'
import { columnsFor } from './columns.tsx'
import { schedulesQuery } from './queries.ts'
import { ScheduleForm } from './schedule-form.tsx'
import { SchedulePanel } from './schedule-panel.tsx'

/** Prompts that agents get at certain times: when they run next, and what came of the last run. */
export function SchedulesPage() {
  const [{ agent, open, create }, setAddress] = useAddress<'agent' | 'open' | 'create' | 'state'>()
  const { data: agents = [] } = useQuery(agentChoicesQuery)
  const close = () => setAddress({ open: undefined, state: undefined })
  const closeForm = () => setAddress({ create: undefined })
  return (
    <Page
      title="Schedules"
      actions={
        <MayChange>
          <Button onClick={() => setAddress({ create: '1' })}>Create schedule</Button>
        </MayChange>
      }
      toolbar={
        <>
          <ChoiceFilter
            label="Agent"
            value={agent}
            options={agents.map(({ id, name }) => ({ value: id, label: name }))}
            onChange={next => setAddress({ agent: next })}
          />
          <FilterChips
            active={{ agent: agents.find(({ id }) => id === agent)?.name ?? agent }}
            onRemove={() => setAddress({ agent: undefined })}
            onClear={() => setAddress({ agent: undefined })}
          />
        </>
      }
    >
      <WithPanel panel={open !== undefined && <SchedulePanel key={open} id={open} onClose={close} />}>
        <Schedules agent={agent} open={open} />
      </WithPanel>
      {create !== undefined && (
        <ChangeDialog title="Create schedule" right="Viewers cannot create schedules" onClose={closeForm}>
          <ScheduleForm
            agentId={agent}
            onClose={closeForm}
            onSaved={({ id }) => setAddress({ create: undefined, open: id })}
          />
        </ChangeDialog>
      )}
    </Page>
  )
}

interface Props {
  readonly agent: string | undefined
  readonly open: string | undefined
}

function Schedules({ agent, open }: Props) {
  const [, setAddress] = useAddress<'agent' | 'open' | 'create' | 'state'>()
  const names = useAgentNames()
  const list = useInfiniteQuery(schedulesQuery(agent))
  const { data, error, refetch } = list
  const columns = useMemo(
    () => columnsFor({ nameOfAgent: id => names.get(id) ?? id, isBesidePanel: open !== undefined }),
    [names, open],
  )
  if (!data) {
    return error ? <ProblemBlock error={error} what="load the schedules" retry={() => void refetch()} /> : <Loading />
  }
  const rows = data.pages.flatMap(({ schedules }) => schedules)
  if (rows.length === 0 && agent !== undefined)
    return <NoMatch what="schedules" onClear={() => setAddress({ agent: undefined })} />
  if (rows.length === 0) {
    return (
      <Empty
        title="No schedules"
        action={<Button onClick={() => setAddress({ create: '1' })}>Create schedule</Button>}
        link={<a href="/docs">Read the API reference</a>}
      >
        A schedule sends a prompt to an agent at the times of a cron expression. Each run is a session with its own
        history.
      </Empty>
    )
  }
  return (
    <DataTable<ListedSchedule>
      label="Schedules"
      rows={rows}
      columns={columns}
      keyOf={({ id }) => id}
      selected={open}
      onOpen={({ id }) => setAddress({ open: id, state: undefined }, { isStep: true })}
      onEnd={nextPageOf(list)}
    />
  )
}
