import type { Experiment } from '../../../../src/contract/experiments.ts'
import css from './evaluations.module.css'

type Counts = Experiment['counts']

const parts = ['passed', 'failed', 'error', 'running'] as const

/** The outcomes of all cases as one bar, and the passed ones as a number. */
export function OutcomeBar({ counts, isRow = false }: { readonly counts: Counts; readonly isRow?: boolean }) {
  const { total, passed } = counts
  const text = parts.flatMap(part => (counts[part] > 0 ? [`${counts[part]} ${part}`] : [])).join(', ')
  return (
    <span className={isRow ? css.outcomeRow : css.outcome}>
      <span className={css.outcomeTrack} role="img" aria-label={`${text || 'none ended'} of ${total}`} title={text}>
        {parts.map(part => (
          <span key={part} data-part={part} style={{ width: `${(counts[part] / Math.max(1, total)) * 100}%` }} />
        ))}
      </span>
      <span className="numbers">
        {passed}
        <span className="soft">/{total}</span>
      </span>
    </span>
  )
}
