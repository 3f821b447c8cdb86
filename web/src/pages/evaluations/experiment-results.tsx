import { useInfiniteQuery } from '@tanstack/react-query'
import type { Experiment, ExperimentCase } from '../../../../src/contract/experiments.ts'
import { nextPageOf } from '../../data/next-page.ts'
import { useAddress } from '../../parts/address.ts'
import { DataTable } from '../../parts/data-table.tsx'
import { ChoiceFilter } from '../../parts/filters.tsx'
import { Loading, NoMatch, ProblemBlock } from '../../parts/page-state.tsx'
import { WithPanel } from '../../parts/side-panel.tsx'
import { caseColumns } from './case-columns.tsx'
import { CasePanel } from './case-panel.tsx'
import css from './evaluations.module.css'
import { ExperimentTiles } from './experiment-tiles.tsx'
import { resultsQuery } from './queries.ts'
import { caseStates } from './states.ts'

const states = Object.keys(caseStates) as ExperimentCase['state'][]

/** Totals of an experiment, and the result of each case; a chosen case opens beside the list. */
export function ExperimentResults({ experiment }: { readonly experiment: Experiment }) {
  const [{ case: open, state: named }, setAddress] = useAddress<'case' | 'state'>()
  const state = states.find(each => each === named)
  const list = useInfiniteQuery(resultsQuery(experiment.id, state, experiment.ended_at === null))
  const rows = list.data?.pages.flatMap(({ cases }) => cases)
  const chosen = rows?.find(({ case_id }) => case_id === open)
  return (
    <div className={css.results}>
      <ExperimentTiles experiment={experiment} />
      <div className={css.filters}>
        <ChoiceFilter
          label="State of the case"
          value={state}
          options={states.map(value => ({ value, label: caseStates[value].word }))}
          onChange={next => setAddress({ state: next, case: undefined })}
        />
      </div>
      <WithPanel panel={chosen && <CasePanel result={chosen} onClose={() => setAddress({ case: undefined })} />}>
        <Results list={list} rows={rows} selected={open} isBesidePanel={chosen !== undefined} />
      </WithPanel>
    </div>
  )
}

interface Props {
  readonly list: Parameters<typeof nextPageOf>[0] & { readonly error: unknown; readonly refetch: () => unknown }
  readonly rows: readonly ExperimentCase[] | undefined
  readonly selected: string | undefined
  readonly isBesidePanel: boolean
}

function Results({ list, rows, selected, isBesidePanel }: Props) {
  const [, setAddress] = useAddress<'case' | 'state'>()
  const { error, refetch } = list
  if (!rows) {
    return error ? <ProblemBlock error={error} what="load the results" retry={() => void refetch()} /> : <Loading />
  }
  if (rows.length === 0) return <NoMatch what="cases" onClear={() => setAddress({ state: undefined })} />
  return (
    <DataTable<ExperimentCase>
      label="Cases"
      rows={rows}
      columns={caseColumns(isBesidePanel)}
      keyOf={({ case_id }) => case_id}
      selected={selected}
      onOpen={({ case_id }) => setAddress({ case: case_id }, { isStep: true })}
      onEnd={nextPageOf(list)}
    />
  )
}
