import { Button } from '@mantine/core'
import { IconPlus, IconUpload } from '@tabler/icons-react'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useCallback, useMemo } from 'react'
import type { AgentStatus, ListedAgent } from '../../../../src/contract/agents.ts'
import { agentListQuery, capabilitiesQuery } from '../../data/agents.ts'
import { modelNames } from '../../data/lists.ts'
import { useAddress } from '../../parts/address.ts'
import { DataTable } from '../../parts/data-table.tsx'
import { ChoiceFilter, FilterChips, SearchFilter } from '../../parts/filters.tsx'
import { ChangeDialog, MayChange } from '../../parts/may-change.tsx'
import { Page } from '../../parts/page.tsx'
import { Empty, Loading, NoMatch, ProblemBlock } from '../../parts/page-state.tsx'
import { WithPanel } from '../../parts/side-panel.tsx'
import { agentColumns } from './agent-columns.tsx'
import { AgentPanel } from './agent-panel.tsx'
import { CreateAgent } from './create-agent.tsx'
import { ImportAgent } from './import-agent.tsx'
import { agentUseQuery } from './queries.ts'

const statuses: readonly AgentStatus[] = ['active', 'paused', 'archived']

type Parameter = 'q' | 'status' | 'runtime' | 'model' | 'open' | 'create' | 'import'

/** All agents: what they are, whether they work, what they cost. */
export function AgentsPage() {
  const [address, setAddress] = useAddress<Parameter>()
  const navigate = useNavigate()
  const { q, runtime, model, open } = address
  const status = statuses.find(each => each === address.status)
  const { data, error, refetch, isPending, hasNextPage, fetchNextPage } = useInfiniteQuery(
    agentListQuery({ q, status, runtime, model }),
  )
  const { data: use } = useQuery(agentUseQuery)
  const columns = useMemo(() => agentColumns(use), [use])
  const agents = useMemo(() => data?.pages.flatMap(page => page.agents) ?? [], [data])
  const filters = { q, status, runtime, model }
  const isFiltered = Object.values(filters).some(value => value !== undefined)
  const clear = () => setAddress({ q: undefined, status: undefined, runtime: undefined, model: undefined })
  const onEnd = useCallback(() => {
    if (hasNextPage) void fetchNextPage()
  }, [hasNextPage, fetchNextPage])
  const closeForm = () => setAddress({ create: undefined, import: undefined })
  const openPage = (id: string) => void navigate({ to: '/console/agents/$agentId', params: { agentId: id } })
  const onOpen = ({ id }: ListedAgent, isPage: boolean) =>
    isPage ? openPage(id) : setAddress({ open: id }, { isStep: true })

  return (
    <Page
      title="Agents"
      actions={
        <MayChange>
          <Button
            variant="default"
            leftSection={<IconUpload size={14} />}
            onClick={() => setAddress({ import: '1' }, { isStep: true })}
          >
            Import agent
          </Button>
          <Button leftSection={<IconPlus size={14} />} onClick={() => setAddress({ create: '1' }, { isStep: true })}>
            Create agent
          </Button>
        </MayChange>
      }
      toolbar={<Filters filters={filters} onChange={setAddress} onClear={clear} />}
    >
      <WithPanel
        panel={
          open !== undefined && (
            <AgentPanel
              key={open}
              id={open}
              listed={agents.find(({ id }) => id === open)}
              onClose={() => setAddress({ open: undefined })}
            />
          )
        }
      >
        {error ? (
          <ProblemBlock error={error} what="load agents" retry={() => void refetch()} />
        ) : isPending ? (
          <Loading />
        ) : agents.length > 0 ? (
          <DataTable
            rows={agents}
            columns={columns}
            keyOf={({ id }) => id}
            label="Agents"
            onOpen={onOpen}
            selected={open}
            onEnd={onEnd}
          />
        ) : isFiltered ? (
          <NoMatch what="agents" onClear={clear} />
        ) : (
          <Empty
            title="No agents yet"
            action={<Button onClick={() => setAddress({ create: '1' }, { isStep: true })}>Create agent</Button>}
            link={<a href="/docs#tag/agents">How agents work</a>}
          >
            An agent is a model, a prompt and tools under one name. Sessions, schedules and webhooks run it.
          </Empty>
        )}
      </WithPanel>
      {address.create !== undefined && (
        <ChangeDialog title="Create agent" right="Viewers cannot create agents" onClose={closeForm}>
          <CreateAgent onClose={closeForm} onMade={({ id }) => openPage(id)} />
        </ChangeDialog>
      )}
      {address.import !== undefined && (
        <ChangeDialog title="Import agent" right="Viewers cannot import agents" onClose={closeForm}>
          <ImportAgent onClose={closeForm} onMade={({ id }) => openPage(id)} />
        </ChangeDialog>
      )}
    </Page>
  )
}

interface FiltersProps {
  readonly filters: Readonly<Record<'q' | 'status' | 'runtime' | 'model', string | undefined>>
  readonly onChange: (changes: Partial<Record<Parameter, string | undefined>>) => void
  readonly onClear: () => void
}

function Filters({ filters, onChange, onClear }: FiltersProps) {
  const { data: capabilities } = useQuery(capabilitiesQuery)
  const { data: models = [] } = useQuery(modelNames)
  const { q: _, ...chips } = filters
  return (
    <>
      <SearchFilter value={filters.q} onChange={q => onChange({ q })} label="Search by name or id" />
      <ChoiceFilter
        label="Status"
        value={filters.status}
        options={statuses}
        onChange={status => onChange({ status })}
      />
      <ChoiceFilter
        label="Runtime"
        value={filters.runtime}
        options={capabilities?.runtimes.map(({ id }) => id) ?? []}
        onChange={runtime => onChange({ runtime })}
      />
      <ChoiceFilter label="Model" value={filters.model} options={models} onChange={model => onChange({ model })} />
      <FilterChips active={chips} onRemove={name => onChange({ [name]: undefined })} onClear={onClear} />
    </>
  )
}
