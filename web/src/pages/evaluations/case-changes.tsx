import type { CaseComparison } from '../../../../src/contract/experiments.ts'
import { duration, money } from '../../parts/format.ts'
import { SafeText } from '../../parts/safe-text.tsx'
import { StatePill } from '../../parts/state-pill.tsx'
import { TextLink } from '../../parts/text-link.tsx'
import { signed } from './compared-figures.ts'
import css from './evaluations.module.css'
import { caseStates, changes } from './states.ts'

/** Each case of two experiments with what changed; worse ones first. */
export function CaseChanges({ cases }: { readonly cases: readonly CaseComparison[] }) {
  return (
    <table className={css.cases} aria-label="Cases of both experiments">
      <thead>
        <tr>
          <th scope="col">Case</th>
          <th scope="col">Change</th>
          <th scope="col">Before</th>
          <th scope="col">Now</th>
          <th scope="col" className={css.end}>
            Score
          </th>
          <th scope="col" className={css.end}>
            Cost
          </th>
          <th scope="col" className={css.end}>
            Time
          </th>
        </tr>
      </thead>
      <tbody>
        {cases.map(each => (
          <CaseRow key={each.case_id} comparison={each} />
        ))}
      </tbody>
    </table>
  )
}

function CaseRow({ comparison }: { readonly comparison: CaseComparison }) {
  const { name, change, base, other, score_change, cost_change_usd, duration_change_ms } = comparison
  return (
    <tr>
      <th scope="row">
        <SafeText text={name} />
      </th>
      <td>
        <StatePill {...changes[change]} />
      </td>
      <td>
        <Side side={base} />
      </td>
      <td>
        <Side side={other} />
      </td>
      <td className={`${css.end} numbers`}>{differenceOf(score_change, value => value.toFixed(2))}</td>
      <td className={`${css.end} numbers`}>{differenceOf(cost_change_usd, money)}</td>
      <td className={`${css.end} numbers`}>{differenceOf(duration_change_ms, duration)}</td>
    </tr>
  )
}

const differenceOf = (change: number | null, format: (value: number) => string): string =>
  change === null ? '' : signed(change, format)

/** The state on one side, which opens its session. */
function Side({ side }: { readonly side: CaseComparison['base'] }) {
  if (!side) return <span className="soft">none</span>
  const { word } = caseStates[side.state]
  if (side.session_id === null) return <span>{word}</span>
  return (
    <TextLink to="/console/sessions/$sessionId" params={{ sessionId: side.session_id }} search={{}}>
      {word}
    </TextLink>
  )
}
