import type { ExperimentCase } from '../../../../src/contract/experiments.ts'
import type { Column } from '../../parts/data-table.tsx'
import { Money } from '../../parts/figures.tsx'
import { count, duration } from '../../parts/format.ts'
import { SafeText } from '../../parts/safe-text.tsx'
import { StatePill } from '../../parts/state-pill.tsx'
import { caseState } from './states.ts'

/** Columns of the results; beside an open case only those that fit. */
export const caseColumns = (isBesidePanel: boolean): readonly Column<ExperimentCase>[] =>
  isBesidePanel ? all.filter(({ key }) => !leftOut.has(key)) : all

const leftOut: ReadonlySet<string> = new Set(['answer', 'tokens', 'time'])

const all: readonly Column<ExperimentCase>[] = [
  {
    key: 'name',
    title: 'Case',
    width: 'minmax(140px, 1.5fr)',
    cell: ({ name }) => <SafeText text={name} />,
  },
  {
    key: 'state',
    title: 'Result',
    width: '130px',
    cell: result => <StatePill {...caseState(result)} />,
  },
  {
    key: 'answer',
    title: 'Answer',
    width: 'minmax(120px, 2fr)',
    isNarrow: false,
    cell: ({ answer, diverged }) => (
      <span className="clip">
        {diverged && <span className="soft">diverged · </span>}
        <SafeText text={answer ?? ''} />
      </span>
    ),
  },
  {
    key: 'score',
    title: 'Score',
    width: '64px',
    align: 'end',
    cell: ({ score }) => <span className="numbers">{score === null ? '' : score.toFixed(2)}</span>,
  },
  {
    key: 'cost',
    title: 'Cost',
    width: '90px',
    align: 'end',
    isNarrow: false,
    cell: ({ cost_usd, ended_at }) => (ended_at === null ? null : <Money usd={cost_usd} />),
  },
  {
    key: 'tokens',
    title: 'Tokens',
    width: '90px',
    align: 'end',
    isNarrow: false,
    cell: ({ input_tokens, output_tokens, ended_at }) =>
      ended_at === null ? null : <span className="numbers">{count(input_tokens + output_tokens)}</span>,
  },
  {
    key: 'time',
    title: 'Time',
    width: '80px',
    align: 'end',
    isNarrow: false,
    cell: ({ duration_ms }) => <span className="numbers">{duration_ms === null ? '' : duration(duration_ms)}</span>,
  },
]
