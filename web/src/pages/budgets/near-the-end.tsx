import { UnstyledButton } from '@mantine/core'
import type { Budget } from '../../../../src/contract/budgets.ts'
import { useOverview } from '../../data/live.ts'
import { BudgetBar } from '../../parts/budget-bar.tsx'
import { plural } from '../../parts/format.ts'
import { RaiseBudget } from '../../parts/raise-budget.tsx'
import { SafeText } from '../../parts/safe-text.tsx'
import { BudgetState, nameOf } from './budget-words.tsx'
import css from './near-the-end.module.css'
import { idOf } from './queries.ts'

const maxShown = 5

/** Budgets of which 80 % or more are spent, with the way to raise them. Absent while there are none. */
export function NearTheEnd({ onOpen }: { readonly onOpen: (budget: Budget) => void }) {
  const budgets = useOverview().data?.budgets ?? []
  if (budgets.length === 0) return null
  return (
    <section className={css.section} aria-label="Budgets near the end">
      <h2 className={css.title}>{plural(budgets.length, 'budget')} near the end</h2>
      {budgets.slice(0, maxShown).map(budget => (
        <div key={idOf(budget)} className={css.row}>
          <BudgetState budget={budget} />
          <UnstyledButton className={`${css.name} clip`} onClick={() => onOpen(budget)}>
            <span className="soft">{budget.scope}</span> <SafeText text={nameOf(budget)} />
          </UnstyledButton>
          <BudgetBar budget={budget} isRow />
          <RaiseBudget budget={budget} />
        </div>
      ))}
    </section>
  )
}
