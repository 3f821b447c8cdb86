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

interface Props {
  readonly onClose: () => void
  readonly onDone: (budget: Budget) => void
}

type WritableScope = 'owner' | 'agent' | 'session' | 'team'

/** Sets the budget of an owner, an agent, a session or a team. */
export function CreateBudget({ onClose, onDone }: Props) {
  const queries = useQueryClient()
  const [scope, setScope] = useState<WritableScope>('owner')
  const [id, setId] = useState('')
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
  readonly scope: WritableScope
  readonly value: string
  readonly onChange: (value: string) => void
}

const IdField = ({ scope, value, onChange }: IdProps) => (
  <TextInput
    label={{ owner: 'Owner', agent: 'Agent', session: 'Session id', team: 'Team id' }[scope]}
    description={scope === 'owner' ? 'As in owner_id of its agents and keys' : 'Starts with ses_'}
    maxLength={200}
    value={value}
    onChange={({ currentTarget }) => onChange(currentTarget.value)}
    required
  />
)
