import { Button } from '@mantine/core'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useMemo } from 'react'
import type { Experiment } from '../../../../src/contract/experiments.ts'
import { useAgentNames } from '../../data/names.ts'
import { nextPageOf } from '../../data/next-page.ts'
import { useAddress } from '../../parts/address.ts'
import { DataTable } from '../../parts/data-table.tsx'
import { ChoiceFilter, FilterChips } from '../../parts/filters.tsx'
import { ChangeDialog, MayChange } from '../../parts/may-change.tsx'
import { Page } from '../../parts/page.tsx'
import { Empty, Loading, NoMatch, ProblemBlock } from '../../parts/page-state.tsx'
import { plainText } from '../../parts/safe-text.tsx'
import { experimentColumns } from './experiment-columns.tsx'
import { ExperimentForm } from './experiment-form.tsx'
import { datasetsQuery, experimentsQuery } from './queries.ts'
import { experimentStates } from './states.ts'

const states = Object.keys(experimentStates) as Experiment['state'][]
const none = { dataset: undefined, state: undefined } as const

/** Experiments on datasets: how many cases passed, and what they cost. */
export function EvaluationsPage() {
  const [{ dataset, state, create }, setAddress] = useAddress<'dataset' | 'state' | 'create'>()
  const navigate = useNavigate()
  const { data: datasets = [] } = useQuery(datasetsQuery)
  const closeForm = () => setAddress({ create: undefined })
  const open = (id: string) =>
    void navigate({ to: '/console/evaluations/$experimentId', params: { experimentId: id }, search: {} })
  return (
    <Page
      title="Evaluations"
      actions={
        <MayChange>
          <Button onClick={() => setAddress({ create: '1' })}>Run experiment</Button>
        </MayChange>
      }
      toolbar={
        <>
          <ChoiceFilter
            label="Dataset"
            value={dataset}
            options={datasets.map(({ id, name }) => ({ value: id, label: plainText(name) }))}
            onChange={next => setAddress({ dataset: next })}
          />
          <ChoiceFilter
            label="State"
            value={state}
            options={states.map(value => ({ value, label: experimentStates[value].word }))}
            onChange={next => setAddress({ state: next })}
          />
          <FilterChips
            active={{ dataset: datasets.find(({ id }) => id === dataset)?.name ?? dataset, state }}
            onRemove={name => setAddress({ [name]: undefined })}
            onClear={() => setAddress(none)}
          />
        </>
      }
    >
      <ExperimentList dataset={dataset} state={states.find(each => each === state)} onOpen={open} />
      {create !== undefined && (
        <ChangeDialog title="Run experiment" right="Viewers cannot run experiments" onClose={closeForm}>
          <ExperimentForm datasetId={dataset} onClose={closeForm} onStarted={({ id }) => open(id)} />
        </ChangeDialog>
      )}
    </Page>
  )
}

interface ListProps {
  readonly dataset: string | undefined
  readonly state: Experiment['state'] | undefined
  readonly onOpen: (id: string) => void
}

function ExperimentList({ dataset, state, onOpen }: ListProps) {
  const [, setAddress] = useAddress<'dataset' | 'state' | 'create'>()
  const names = useAgentNames()
  const list = useInfiniteQuery(experimentsQuery({ dataset, agent: undefined, state }))
  const { data, error, refetch } = list
  const columns = useMemo(() => experimentColumns(names), [names])
  if (!data) {
    return error ? <ProblemBlock error={error} what="load the experiments" retry={() => void refetch()} /> : <Loading />
  }
  const rows = data.pages.flatMap(({ experiments }) => experiments)
  if (rows.length === 0 && (dataset !== undefined || state !== undefined))
    return <NoMatch what="experiments" onClear={() => setAddress(none)} />
  if (rows.length === 0) {
    return (
      <Empty
        title="No experiments"
        action={<Button onClick={() => setAddress({ create: '1' })}>Run experiment</Button>}
        link={<a href="/docs">Read the API reference</a>}
      >
        An experiment runs an agent version or a model on all cases of a dataset, checks the answers, and can be
        compared with an earlier one.
      </Empty>
    )
  }
  return (
    <DataTable<Experiment>
      label="Experiments"
      rows={rows}
      columns={columns}
      keyOf={({ id }) => id}
      onOpen={({ id }) => onOpen(id)}
      onEnd={nextPageOf(list)}
    />
  )
}
