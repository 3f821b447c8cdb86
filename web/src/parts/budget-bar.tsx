import { Tooltip } from '@mantine/core'
import { IconAlertTriangle, IconGaugeFilled } from '@tabler/icons-react'
import css from './budget-bar.module.css'
import { type BudgetFigures, type BudgetUse, budgetUse, dollars, periodWords } from './budget-use.ts'
import { Time } from './figures.tsx'
import { exactTime, money } from './format.ts'

interface Props {
  readonly budget: BudgetFigures & {
    readonly budget_duration: string | null
    readonly budget_reset_at: string | null
  }
  /** True for one line of a list: bar and amounts side by side. */
  readonly isRow?: boolean
}

const marks = {
  room: undefined,
  near: { icon: IconGaugeFilled, word: 'nearly used up' },
  used: { icon: IconAlertTriangle, word: 'used up' },
} as const

/**
 * What is spent (filled), reserved (hatched) and allowed; amber from 80 %, red when it is used up. A row needs the state in
 * words beside it.
 */
export function BudgetBar({ budget, isRow = false }: Props) {
  const use = budgetUse(budget)
  const { spend, max_budget: max } = budget
  if (!use || max === null) {
    return (
      <span className="numbers clip">
        {money(spend)} <span className="soft">spent, no limit</span>
      </span>
    )
  }
  const mark = marks[use.state]
  const Mark = mark?.icon
  const text = sentence(budget, max, use)
  return (
    <Tooltip label={text} multiline maw={320}>
      <div className={isRow ? css.row : css.budget}>
        <div
          className={css.track}
          data-state={use.state}
          role="meter"
          aria-label="Budget"
          aria-valuenow={Math.min(100, use.percent)}
          aria-valuemin={0}
          aria-valuemax={100}
          aria-valuetext={text}
          tabIndex={isRow ? -1 : 0}
        >
          <span className={css.spent} style={{ width: `${use.spentShare * 100}%` }} />
          <span className={css.reserved} style={{ width: `${use.reservedShare * 100}%` }} />
        </div>
        <div className={css.words} data-state={use.state}>
          {!isRow && Mark && <Mark size={14} aria-label={mark.word} />}
          <span className="numbers clip">
            {money(spend)} <span className="soft">of {dollars(max)}</span>
            {!isRow && <Details budget={budget} />}
          </span>
        </div>
      </div>
    </Tooltip>
  )
}

function Details({ budget }: Pick<Props, 'budget'>) {
  const { reserved, budget_reset_at: resetAt, budget_duration: duration } = budget
  return (
    <span className="soft">
      {' '}
      {periodWords(duration)}
      {reserved > 0 && <> · {money(reserved)} reserved</>}
      {resetAt !== null && (
        <>
          {' '}
          · resets <Time at={resetAt} />
        </>
      )}
    </span>
  )
}

/** The whole budget in words, for hover and screen readers. */
function sentence({ spend, reserved, budget_duration, budget_reset_at }: Props['budget'], max: number, use: BudgetUse) {
  const word = marks[use.state]?.word
  return [
    `${money(spend)} of ${dollars(max)} ${periodWords(budget_duration)} spent`,
    reserved > 0 && `${money(reserved)} reserved for calls in flight`,
    word,
    budget_reset_at === null ? 'never resets' : `resets ${exactTime(Date.parse(budget_reset_at))}`,
  ]
    .filter(Boolean)
    .join('; ')
}
