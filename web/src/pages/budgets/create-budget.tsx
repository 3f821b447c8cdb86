import { Button, Group, Select, Stack, TextInput } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { Budget } from '../../../../src/contract/budgets.ts'
import { reloadBudgets } from '../../data/budgets.ts'
import { client } from '../../data/client.ts'
import { formErrorOf } from '../../data/form-error.ts'
import { useSubmit } from '../../data/submit.ts'
import { AgentSelect } from '../../parts/agent-select.tsx'
import { LinkButton } from '../../parts/link-button.tsx'
import { ProblemLine } from '../../parts/page-state.tsx'
import { SidePanel } from '../../parts/side-panel.tsx'
import { LimitFields, limitFields, noLimits } from './budget-form.tsx'
import type { BudgetId, Scope } from './queries.ts'

interface Props {
  /** What the budget belongs to, if the address names it. */
  readonly of: BudgetId | undefined
  readonly onClose: () => void
  readonly onDone: (budget: Budget) => void
}

/** Those of keys are fields of the keys. */
type WritableScope = Exclude<Scope, 'key'>

const idHelp: Readonly<Record<Exclude<WritableScope, 'agent'>, string>> = {
  owner: 'As in owner_id of its agents and keys',
  session: 'Starts with ses_',
  team: 'Starts with team_; the page of the team shows it',
}

/** Sets the budget of an owner, an agent, a session or a team. */
export function CreateBudget({ of, onClose, onDone }: Props) {
  const queries = useQueryClient()
  const [given, givenId] = of && of.scope !== 'key' ? [of.scope, of.scope_id] : (['owner', ''] as const)
  const [scope, setScope] = useState<WritableScope>(given)
  const [id, setId] = useState(givenId)
  const [limits, setLimits] = useState(noLimits)
  const submit = useSubmit(async () => {
    const budget = await client.budgets.set({ params: { scope, scope_id: id.trim() }, body: limits })
    await reloadBudgets(queries)
    onDone(budget)
  })
  const error = formErrorOf(submit.error, limitFields)
  const isEmpty = Object.entries(limits).every(([name, value]) => name === 'budget_duration' || value === null)
  return (
    <SidePanel title="Set budget" onClose={onClose}>
      <form onSubmit={event => void submit.send(event)}>
        <Stack gap="md">
          <Select
            label="Belongs to"
            data={[
              { value: 'owner', label: 'An owner: its sessions and its keys' },
              { value: 'agent', label: 'An agent: all of its sessions' },
              { value: 'session', label: 'A session' },
              { value: 'team', label: 'A team: all keys of its members' },
            ]}
            value={scope}
            onChange={value => {
              setScope((value as WritableScope | null) ?? scope)
              setId('')
            }}
            data-autofocus
          />
          {scope === 'agent' ? (
            <AgentSelect label="Agent" value={id === '' ? undefined : id} onChange={setId} />
          ) : (
            <IdField scope={scope} value={id} onChange={setId} />
          )}
          <LimitFields limits={limits} onChange={setLimits} error={error} />
          <ProblemLine error={error.rest} />
          <Group justify="space-between" gap="sm">
            <LinkButton variant="subtle" to="/console/keys">
              Budgets of keys
            </LinkButton>
            <Group gap="sm">
              <Button variant="default" onClick={onClose}>
                Cancel
              </Button>
              <Button type="submit" loading={submit.isRunning} disabled={id.trim() === '' || isEmpty}>
                Set budget
              </Button>
            </Group>
          </Group>
        </Stack>
      </form>
    </SidePanel>
  )
}

interface IdProps {
  readonly scope: Exclude<WritableScope, 'agent'>
  readonly value: string
  readonly onChange: (value: string) => void
}

const IdField = ({ scope, value, onChange }: IdProps) => (
  <TextInput
    label={{ owner: 'Owner', session: 'Session id', team: 'Team id' }[scope]}
    description={idHelp[scope]}
    maxLength={200}
    value={value}
    onChange={({ currentTarget }) => onChange(currentTarget.value)}
    required
  />
)
