import { Link } from '@tanstack/react-router'
import type { Budget } from '../../../../src/contract/budgets.ts'
import { budgetUse } from '../../parts/budget-use.ts'
import { Id } from '../../parts/copy.tsx'
import { count } from '../../parts/format.ts'
import { SafeText } from '../../parts/safe-text.tsx'
import { StatePill } from '../../parts/state-pill.tsx'

type Named = Pick<Budget, 'scope' | 'scope_id' | 'scope_name'>

/** Name of what the budget belongs to, as text. */
export const nameOf = ({ scope_id, scope_name: name }: Named): string =>
  name === null || name.trim() === '' ? scope_id : name

/** Whether a budget has room. */
export function BudgetState({ budget }: { readonly budget: Budget }) {
  const use = budgetUse(budget)
  if (!use) return <StatePill state="done" word="no money limit" />
  if (use.state === 'used') return <StatePill state="failed" word="used up" />
  if (use.state === 'near') return <StatePill state="waiting" word="nearly used up" detail={`${use.percent} %`} />
  return <StatePill state="done" word="has room" detail={`${use.percent} %`} />
}

/** Limits besides money in one line. */
export function RateLimits({ budget }: { readonly budget: Budget }) {
  const { rpm_limit: rpm, tpm_limit: tpm, max_parallel_requests: parallel, parallel_requests: now } = budget
  const limits = [
    rpm !== null && `${count(rpm)} requests a minute`,
    tpm !== null && `${count(tpm)} tokens a minute`,
    parallel !== null && `${now} of ${count(parallel)} calls at a time`,
  ].filter(Boolean)
  return limits.length === 0 ? (
    <span className="soft">none</span>
  ) : (
    <span className="numbers">{limits.join(' · ')}</span>
  )
}

/** Leads to the key, agent, session or team. */
export function SubjectLink({ budget }: { readonly budget: Named }) {
  const { scope, scope_id: id } = budget
  const name = <SafeText text={nameOf(budget)} />
  if (scope === 'key') {
    return (
      <Link to="/console/keys" search={{ open: id }}>
        {name}
      </Link>
    )
  }
  if (scope === 'agent') {
    return (
      <Link to="/console/agents/$agentId" params={{ agentId: id }}>
        {name}
      </Link>
    )
  }
  if (scope === 'session') {
    return (
      <Link to="/console/sessions/$sessionId" params={{ sessionId: id }}>
        {name}
      </Link>
    )
  }
  if (scope === 'team') {
    return (
      <Link to="/console/teams" search={{ open: id }}>
        {name}
      </Link>
    )
  }
  return <Id id={id} what="owner" />
}
