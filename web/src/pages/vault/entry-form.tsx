import { Button, Group, PasswordInput, Select, Stack, TextInput } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { VaultEntry, VaultScope } from '../../../../src/contract/vault.ts'
import { client } from '../../data/client.ts'
import { formErrorOf } from '../../data/form-error.ts'
import { useMe } from '../../data/sign-in.tsx'
import { useSubmit } from '../../data/submit.ts'
import { ProblemLine } from '../../parts/page-state.tsx'
import { reloadVault } from './queries.ts'

interface Props {
  /** Entry whose value is replaced; absent for a new one. */
  readonly entry?: VaultEntry
  readonly onCancel: () => void
  readonly onDone: (entry: Pick<VaultEntry, 'scope' | 'key'>) => void
}

const fields = ['key', 'value', 'scope'] as const

/** Stores a secret under a name. Its value leaves the page in the request only. */
export function EntryForm({ entry, onCancel, onDone }: Props) {
  const queries = useQueryClient()
  const { role, owner_id, principal } = useMe()
  // Entries for all agents are for administrators of all owners.
  const mayBeGlobal = role === 'admin' && owner_id === null
  const [name, setName] = useState(entry?.key ?? '')
  const [value, setValue] = useState('')
  const [scope, setScope] = useState<VaultScope>(entry?.scope ?? (mayBeGlobal ? 'global' : 'owner'))
  const submit = useSubmit(async () => {
    await client.vault.set({ body: { key: name.trim(), value, scope } })
    setValue('')
    await reloadVault(queries)
    onDone({ key: name.trim(), scope })
  })
  const error = formErrorOf(submit.error, fields)
  return (
    <form onSubmit={event => void submit.send(event)}>
      <Stack gap="md">
        {!entry && (
          <TextInput
            label="Name"
            description="As in settings of agents and webhooks: letters, digits, _, - and ."
            placeholder="GITHUB_TOKEN"
            maxLength={200}
            classNames={{ input: 'mono' }}
            value={name}
            onChange={({ currentTarget }) => setName(currentTarget.value)}
            error={error.at('key')}
            required
            data-autofocus
          />
        )}
        <PasswordInput
          label={entry ? 'New value' : 'Value'}
          description="1 byte to 64 KB. It is stored encrypted and never shown again"
          autoComplete="off"
          value={value}
          onChange={({ currentTarget }) => setValue(currentTarget.value)}
          error={error.at('value')}
          required
        />
        {!entry && mayBeGlobal && (
          <Select
            label="Available to"
            data={[
              { value: 'global', label: 'All agents' },
              { value: 'owner', label: `Only agents of owner ${principal}` },
            ]}
            value={scope}
            onChange={chosen => setScope(chosen === 'owner' ? 'owner' : 'global')}
            error={error.at('scope')}
          />
        )}
        <ProblemLine error={error.rest} />
        <Group justify="flex-end" gap="sm">
          <Button variant="default" onClick={onCancel}>
            Cancel
          </Button>
          <Button type="submit" loading={submit.isRunning} disabled={name.trim() === '' || value === ''}>
            {entry ? 'Replace value' : 'Store vault entry'}
          </Button>
        </Group>
      </Stack>
    </form>
  )
}
