import { Button, Group, Stack } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { Budget } from '../../../../src/contract/budgets.ts'
import { changeBudget, reloadBudgets } from '../../data/budgets.ts'
import { client } from '../../data/client.ts'
import { formErrorOf } from '../../data/form-error.ts'
import { problemOf } from '../../data/problem.ts'
import { useSubmit } from '../../data/submit.ts'
import { useAddress } from '../../parts/address.ts'
import { BudgetBar } from '../../parts/budget-bar.tsx'
import { dollars } from '../../parts/budget-use.ts'
import { Confirm } from '../../parts/confirm.tsx'
import { Facts } from '../../parts/facts.tsx'
import { Loading, ProblemBlock, ProblemLine } from '../../parts/page-state.tsx'
import { RaiseBudget } from '../../parts/raise-budget.tsx'
import { SidePanel } from '../../parts/side-panel.tsx'
import { LimitFields, limitFields } from './budget-form.tsx'
import { BudgetState, nameOf, RateLimits, SubjectLink } from './budget-words.tsx'
import { type BudgetId, budgetQuery, idOf } from './queries.ts'

interface Props {
  readonly id: BudgetId
  readonly onClose: () => void
}

/** One budget beside the list. */
export function BudgetPanel({ id, onClose }: Props) {
  const { data, error, refetch } = useQuery(budgetQuery(id))
  const [{ edit }, setAddress] = useAddress<'edit' | 'open' | 'create'>()
  const stopEditing = () => setAddress({ edit: undefined })
  if (error && problemOf(error).isMissing) {
    return (
      <SidePanel title="Budget" onClose={onClose}>
        <Stack gap="md" align="flex-start">
          <p className="soft">No budget is set here: only other budgets limit these calls.</p>
          <Button onClick={() => setAddress({ open: undefined, create: idOf(id) })}>Set budget</Button>
        </Stack>
      </SidePanel>
    )
  }
  if (!data) {
    return (
      <SidePanel title="Budget" onClose={onClose}>
        {error ? <ProblemBlock error={error} what="load the budget" retry={() => void refetch()} /> : <Loading />}
      </SidePanel>
    )
  }
  const title = `Budget of ${data.scope} ${nameOf(data)}`
  if (edit === '1') {
    return (
      <SidePanel title={title} onClose={stopEditing}>
        <EditBudget budget={data} onDone={stopEditing} />
      </SidePanel>
    )
  }
  return (
    <SidePanel title={title} onClose={onClose}>
      <Stack gap="md">
        <Actions budget={data} onEdit={() => setAddress({ edit: '1' })} onRemoved={onClose} />
        <BudgetBar budget={data} />
        <Facts
          of={[
            ['State', <BudgetState key="state" budget={data} />],
            ['Belongs to', <SubjectLink key="subject" budget={data} />],
            ['Warning', data.soft_budget !== null && `from ${dollars(data.soft_budget)}`],
            ['Other limits', <RateLimits key="limits" budget={data} />],
            ['Calls in flight', String(data.parallel_requests)],
          ]}
        />
      </Stack>
    </SidePanel>
  )
}

interface ActionsProps {
  readonly budget: Budget
  readonly onEdit: () => void
  readonly onRemoved: () => void
}

function Actions({ budget, onEdit, onRemoved }: ActionsProps) {
  const queries = useQueryClient()
  const [isAsking, setAsking] = useState(false)
  const { scope, scope_id } = budget
  return (
    <Group gap="sm">
      {budget.max_budget !== null && <RaiseBudget budget={budget} onOther={onEdit} />}
      <Button variant="default" onClick={onEdit}>
        Edit budget
      </Button>
      {scope !== 'key' && (
        <Button variant="default" c="var(--state-failed)" onClick={() => setAsking(true)}>
          Remove budget
        </Button>
      )}
      <Link to="/console/audit" search={{ object_id: `${scope}:${scope_id}` }}>
        Changes
      </Link>
      {scope !== 'key' && (
        <Confirm
          isOpen={isAsking}
          onClose={() => setAsking(false)}
          question={`Remove the budget of ${scope} ${nameOf(budget)}?`}
          consequence="From then on it may spend without a limit, apart from the budgets of its keys. The amount that was spent is forgotten; the ledger keeps each call."
          action="Remove budget"
          run={async () => {
            await client.budgets.remove({ params: { scope, scope_id } })
            onRemoved()
            queries.removeQueries({ queryKey: budgetQuery({ scope, scope_id }).queryKey })
            await reloadBudgets(queries)
          }}
        />
      )}
    </Group>
  )
}

function EditBudget({ budget, onDone }: { readonly budget: Budget; readonly onDone: () => void }) {
  const queries = useQueryClient()
  const { max_budget, soft_budget, budget_duration, rpm_limit, tpm_limit, max_parallel_requests } = budget
  const [limits, setLimits] = useState({
    max_budget,
    soft_budget,
    budget_duration,
    rpm_limit,
    tpm_limit,
    max_parallel_requests,
  })
  const submit = useSubmit(async () => {
    await changeBudget(budget, limits)
    await reloadBudgets(queries)
    onDone()
  })
  const error = formErrorOf(submit.error, limitFields)
  return (
    <form onSubmit={event => void submit.send(event)}>
      <Stack gap="md">
        <LimitFields limits={limits} onChange={setLimits} error={error} />
        <ProblemLine error={error.rest} />
        <Group justify="flex-end" gap="sm">
          <Button variant="default" onClick={onDone}>
            Cancel
          </Button>
          <Button type="submit" loading={submit.isRunning}>
            Save budget
          </Button>
        </Group>
      </Stack>
    </form>
  )
}
