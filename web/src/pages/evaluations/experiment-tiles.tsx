import type { ReactNode } from 'react'
import type { Experiment } from '../../../../src/contract/experiments.ts'
import { useAgentNames } from '../../data/names.ts'
import { Elapsed } from '../../parts/figures.tsx'
import { count, duration, money, plural } from '../../parts/format.ts'
import { SafeText } from '../../parts/safe-text.tsx'
import css from './evaluations.module.css'
import { OutcomeBar } from './outcome-bar.tsx'
import { percent, subjectOf } from './states.ts'

/** Totals of an experiment. */
export function ExperimentTiles({ experiment }: { readonly experiment: Experiment }) {
  const names = useAgentNames()
  const { counts, pass_rate, score, cost_usd, unpriced_calls, judge_cost_usd, max_budget_usd } = experiment
  const { created_at, ended_at, input_tokens, output_tokens, replay, dataset_name, reason } = experiment
  const budget = max_budget_usd === null ? 'no limit of its own' : `of ${money(max_budget_usd)}`
  return (
    <dl className={css.tiles}>
      <Tile
        name="Passed"
        value={<OutcomeBar counts={counts} />}
        detail={counts.error > 0 ? `${plural(counts.error, 'error')}` : reason && <SafeText text={reason} />}
      />
      <Tile name="Pass rate" value={percent(pass_rate)} detail={score !== null && `score ${score.toFixed(2)}`} />
      <Tile
        name="Cost"
        value={money(cost_usd)}
        detail={
          unpriced_calls > 0
            ? `and ${plural(unpriced_calls, 'call')} without a price`
            : `${budget}${judge_cost_usd === null ? '' : `; judges ${money(judge_cost_usd)}`}`
        }
      />
      <Tile
        name="Time"
        value={
          ended_at === null ? <Elapsed since={created_at} /> : duration(Date.parse(ended_at) - Date.parse(created_at))
        }
        detail={`${count(input_tokens)} tokens in, ${count(output_tokens)} out`}
      />
      <Tile
        name={replay ? 'Replay of' : 'Runs'}
        value={<SafeText text={subjectOf(experiment, names)} />}
        detail={
          <>
            on <SafeText text={dataset_name} />
            {counts.diverged > 0 && `; ${counts.diverged} diverged`}
          </>
        }
      />
    </dl>
  )
}

interface TileProps {
  readonly name: string
  readonly value: ReactNode
  readonly detail?: ReactNode
}

function Tile({ name, value, detail }: TileProps) {
  return (
    <div className={css.tile}>
      <dt>{name}</dt>
      <dd className="numbers">
        <span className={`${css.value} clip`}>{value}</span>
        {detail && <small className={`${css.detail} clip`}>{detail}</small>}
      </dd>
    </div>
  )
}
