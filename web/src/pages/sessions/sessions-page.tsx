import { Button } from '@mantine/core'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { agentChoicesQuery } from '../../data/agents.ts'
import { nextPageOf } from '../../data/next-page.ts'
import { useIsAdmin, useMayChange } from '../../data/sign-in.tsx'
import { useAddress } from '../../parts/address.ts'
import { DataTable } from '../../parts/data-table.tsx'
import { ChoiceFilter, FilterChips, SearchFilter } from '../../parts/filters.tsx'
import { plural } from '../../parts/format.ts'
import { ChangePanel } from '../../parts/may-change.tsx'
import { Page } from '../../parts/page.tsx'
import { Empty, Loading, NoMatch, ProblemBlock } from '../../parts/page-state.tsx'
import { WithPanel } from '../../parts/side-panel.tsx'
import { columnsOf } from './columns.tsx'
import { ManyActions } from './many-actions.tsx'
import { useNewRows } from './new-rows.ts'
import { NewSession } from './new-session.tsx'
import { type SessionFilter, sessionsQuery, statuses } from './queries.ts'
import { SessionPanel } from './session-panel.tsx'

const noFilters = { status: undefined, agent: undefined, q: undefined, owner: undefined, deleted: undefined } as const

/** All sessions, live: what each does now, what it costs, and how to stop it. */
export function SessionsPage() {
  const [address, setAddress] = useAddress<SessionFilter | 'open' | 'create'>()
  const { open, create, ...filters } = address
  const isAdmin = useIsAdmin()
  const mayChange = useMayChange()
  const navigate = useNavigate()
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  const sessions = useInfiniteQuery(sessionsQuery(filters))
  const { data, error, isPending, refetch } = sessions
  const { data: agents = [] } = useQuery(agentChoicesQuery)
  const all = data?.pages.flatMap(page => page.sessions) ?? []
  const { shown, fresh, showFresh } = useNewRows(all, JSON.stringify(filters))
  const isFiltered = Object.values(filters).some(value => value !== undefined)
  const toggle = (id: string) =>
    setSelected(before => {
      const next = new Set(before)
      if (!next.delete(id)) next.add(id)
      return next
    })

  const closeForm = () => setAddress({ create: undefined })
  const startSession = <Button onClick={() => setAddress({ create: '1', open: undefined })}>Start session</Button>
  const list = () => {
    if (isPending) return <Loading lines={12} />
    if (error && all.length === 0)
      return <ProblemBlock error={error} what="load sessions" retry={() => void refetch()} />
    if (all.length === 0 && isFiltered) return <NoMatch what="sessions" onClear={() => setAddress(noFilters)} />
    if (all.length === 0) {
      return (
        <Empty title="No sessions yet" action={startSession} link={<a href="/docs">API reference</a>}>
          A session is one conversation with an agent: its prompts, what it did, its files and its cost. Webhooks,
          schedules and programs start sessions, too.
        </Empty>
      )
    }
    return (
      <DataTable
        label="Sessions"
        rows={shown}
        columns={columnsOf({ selected, toggle, hasOwner: isAdmin })}
        keyOf={({ id }) => id}
        selected={open}
        onOpen={({ id }, isPage) =>
          isPage
            ? void navigate({ to: '/console/sessions/$sessionId', params: { sessionId: id } })
            : setAddress({ open: id, create: undefined })
        }
        onEnd={nextPageOf(sessions)}
      />
    )
  }

  return (
    <Page
      title="Sessions"
      actions={mayChange && startSession}
      toolbar={
        <>
          <SearchFilter label="Search title or id" value={filters.q} onChange={q => setAddress({ q })} />
          <ChoiceFilter
            label="Status"
            value={filters.status}
            options={statuses}
            onChange={status => setAddress({ status })}
          />
          <ChoiceFilter
            label="Agent"
            value={filters.agent}
            options={agents.map(({ id, name }) => ({ value: id, label: name }))}
            onChange={agent => setAddress({ agent })}
          />
          <FilterChips
            active={{ owner: filters.owner, deleted: filters.deleted === '1' ? 'included' : undefined }}
            onRemove={name => setAddress({ [name]: undefined })}
            onClear={() => setAddress(noFilters)}
          />
          {fresh > 0 && (
            <Button variant="light" size="compact-sm" onClick={showFresh}>
              {plural(fresh, 'new session')}
            </Button>
          )}
          <ManyActions rows={all} selected={selected} onDone={() => setSelected(new Set())} />
        </>
      }
    >
      <WithPanel
        panel={
          create === '1' ? (
            <ChangePanel title="Start session" right="Viewers cannot start sessions" onClose={closeForm}>
              <NewSession agentId={filters.agent} onClose={closeForm} />
            </ChangePanel>
          ) : open === undefined ? null : (
            <SessionPanel key={open} id={open} onClose={() => setAddress({ open: undefined })} />
          )
        }
      >
        {list()}
      </WithPanel>
    </Page>
  )
}
