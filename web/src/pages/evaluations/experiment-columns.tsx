import type { Experiment } from '../../../../src/contract/experiments.ts'
import type { Column } from '../../parts/data-table.tsx'
import { Money, Time } from '../../parts/figures.tsx'
import { SafeText } from '../../parts/safe-text.tsx'
import { StatePill } from '../../parts/state-pill.tsx'
import { OutcomeBar } from './outcome-bar.tsx'
import { experimentStates, subjectOf } from './states.ts'

/** Columns of the list of experiments. `names` are those of agents by id. */
export const experimentColumns = (names: ReadonlyMap<string, string>): readonly Column<Experiment>[] => [
  {
    key: 'name',
    title: 'Experiment',
    width: 'minmax(160px, 2fr)',
    cell: ({ name }) => <SafeText text={name} />,
  },
  {
    key: 'subject',
    title: 'Agent or model',
    width: 'minmax(120px, 1fr)',
    isNarrow: false,
    cell: experiment => <SafeText text={subjectOf(experiment, names)} />,
  },
  {
    key: 'dataset',
    title: 'Dataset',
    width: 'minmax(100px, 1fr)',
    isNarrow: false,
    cell: ({ dataset_name, replay }) => (
      <>
        <SafeText text={dataset_name} /> {replay && <span className="soft">replay</span>}
      </>
    ),
  },
  {
    key: 'state',
    title: 'State',
    width: '110px',
    isNarrow: false,
    cell: ({ state }) => <StatePill {...experimentStates[state]} />,
  },
  {
    key: 'passed',
    title: 'Passed',
    width: '150px',
    cell: ({ counts }) => <OutcomeBar counts={counts} isRow />,
  },
  {
    key: 'score',
    title: 'Score',
    width: '70px',
    align: 'end',
    isNarrow: false,
    cell: ({ score }) => <span className="numbers">{score === null ? '' : score.toFixed(2)}</span>,
  },
  {
    key: 'cost',
    title: 'Cost',
    width: '90px',
    align: 'end',
    isNarrow: false,
    cell: ({ cost_usd }) => <Money usd={cost_usd} />,
  },
  {
    key: 'started',
    title: 'Started',
    width: '80px',
    align: 'end',
    cell: ({ created_at }) => <Time at={created_at} />,
  },
]
