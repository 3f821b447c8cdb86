import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { SessionSummary } from '../../../../../../src/contract/session-summaries.ts'
import { client } from '../../../../data/client.ts'
import { live } from '../../../../data/live.ts'
import { useIsAdmin } from '../../../../data/sign-in.tsx'
import { BudgetBar } from '../../../../parts/budget-bar.tsx'
import { Money } from '../../../../parts/figures.tsx'
import { ProblemLine } from '../../../../parts/page-state.tsx'
import { RaiseBudget } from '../../../../parts/raise-budget.tsx'
import css from './budget.module.css'

/** What the session may spend; administrators can raise it. */
export function SessionBudget({ session }: { readonly session: SessionSummary }) {
  const isAdmin = useIsAdmin()
  const { budget } = session
  if (!budget) {
    return (
      <p className="soft">
        No separate budget. The budgets of the key, the owner and the agent apply.{' '}
        {isAdmin && (
          <Link to="/console/budgets" search={{ create: `session/${session.id}` }}>
            Set a budget
          </Link>
        )}
      </p>
    )
  }
  if (isAdmin) return <ManagedBudget sessionId={session.id} />
  return (
    <p>
      <Money usd={budget.spent_usd} /> <span className="soft">spent of</span>{' '}
      {budget.max_usd === null ? 'no limit' : <Money usd={budget.max_usd} />}
    </p>
  )
}

function ManagedBudget({ sessionId }: { readonly sessionId: string }) {
  const { data, error } = useQuery({
    // Below `budgets`, so that a raise loads it again.
    queryKey: ['budgets', 'one', 'session', sessionId],
    queryFn: () => client.budgets.get({ params: { scope: 'session', scope_id: sessionId } }),
    meta: live,
  })
  if (!data) return <ProblemLine error={error} />
  return (
    <div className={css.budget}>
      <BudgetBar budget={data} />
      <div>
        <RaiseBudget budget={data} />
      </div>
    </div>
  )
}
