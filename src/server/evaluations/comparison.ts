import type { CaseComparison, Experiment, ExperimentCase, ExperimentComparison } from '../../contract/experiments.ts'

/** An experiment with the results of all of its cases. */
export interface WithCases {
  readonly experiment: Experiment
  readonly cases: readonly ExperimentCase[]
}

type Compared = Pick<ExperimentComparison, 'totals' | 'cases'>

const order: readonly CaseComparison['change'][] = ['worse', 'better', 'same', 'only_in_other', 'only_in_base']

/** Compares two experiments case by case. Differences are `other` minus `base`. Cancelled cases count as absent. */
export function comparisonOf(base: WithCases, other: WithCases): Compared {
  const before = byId(base.cases)
  const after = byId(other.cases)
  const ids = new Set([...before.keys(), ...after.keys()])
  const cases = [...ids].map(id => compared(before.get(id), after.get(id)))
  const count = (change: CaseComparison['change']) => cases.filter(each => each.change === change).length
  const durations = cases.flatMap(each => each.duration_change_ms ?? [])
  return {
    totals: {
      worse: count('worse'),
      better: count('better'),
      same: count('same'),
      only_in_base: count('only_in_base'),
      only_in_other: count('only_in_other'),
      pass_rate_change: difference(base.experiment.pass_rate, other.experiment.pass_rate),
      score_change: difference(base.experiment.score, other.experiment.score),
      cost_change_usd: difference(base.experiment.cost_usd, other.experiment.cost_usd),
      duration_change_ms: durations.length > 0 ? durations.reduce((sum, ms) => sum + ms, 0) : null,
    },
    // Stable, so that cases of one kind stay in the order of the dataset.
    cases: cases.sort((one, next) => order.indexOf(one.change) - order.indexOf(next.change)),
  }
}

const byId = (cases: readonly ExperimentCase[]): ReadonlyMap<string, ExperimentCase> =>
  new Map(cases.filter(({ state }) => state !== 'cancelled').map(each => [each.case_id, each]))

function compared(base: ExperimentCase | undefined, other: ExperimentCase | undefined): CaseComparison {
  const of = (name: 'score' | 'cost_usd' | 'duration_ms') => difference(base?.[name] ?? null, other?.[name] ?? null)
  return {
    case_id: other?.case_id ?? base?.case_id ?? '',
    name: other?.name ?? base?.name ?? '',
    change: changeOf(base, other),
    base: base ? sideOf(base) : null,
    other: other ? sideOf(other) : null,
    score_change: of('score'),
    cost_change_usd: of('cost_usd'),
    duration_change_ms: of('duration_ms'),
  }
}

function changeOf(base: ExperimentCase | undefined, other: ExperimentCase | undefined): CaseComparison['change'] {
  if (!base) return 'only_in_other'
  if (!other) return 'only_in_base'
  const [before, after] = [base.state === 'passed', other.state === 'passed']
  if (before === after) return 'same'
  return after ? 'better' : 'worse'
}

const sideOf = ({ state, score, cost_usd, duration_ms, session_id }: ExperimentCase) => ({
  state,
  score,
  cost_usd,
  duration_ms,
  session_id,
})

const difference = (before: number | null, after: number | null): number | null =>
  before === null || after === null ? null : after - before
