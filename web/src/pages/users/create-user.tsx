import { Button, Group, Select, Stack, TextInput } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { User } from '../../../../src/contract/users.ts'
import { client } from '../../data/client.ts'
import { formErrorOf } from '../../data/form-error.ts'
import { present } from '../../data/present.ts'
import { useSubmit } from '../../data/submit.ts'
import { ProblemLine } from '../../parts/page-state.tsx'
import { RoleSelect } from '../../parts/role-select.tsx'
import { SidePanel } from '../../parts/side-panel.tsx'
import { reloadUsers } from './queries.ts'

interface Props {
  readonly onClose: () => void
  readonly onDone: (user: User) => void
}

/** The form of a new person or service account. */
export function CreateUser({ onClose, onDone }: Props) {
  const queries = useQueryClient()
  const [kind, setKind] = useState<User['kind']>('person')
  const [role, setRole] = useState<User['role']>('member')
  const [name, setName] = useState('')
  const [email, setEmail] = useState('')
  const submit = useSubmit(async () => {
    const address = kind === 'person' && email.trim() !== '' ? email.trim() : undefined
    const user = await client.users.create({ body: present({ kind, name: name.trim(), role, email: address }) })
    await reloadUsers(queries)
    onDone(user)
  })
  const error = formErrorOf(submit.error, ['name', 'email', 'role'])
  return (
    <SidePanel title="Create user" onClose={onClose}>
      <form onSubmit={event => void submit.send(event)}>
        <Stack gap="md">
          <Select
            label="Kind"
            data={[
              { value: 'person', label: 'A person, who signs in' },
              { value: 'service_account', label: 'A service account, which only has keys' },
            ]}
            value={kind}
            onChange={value => setKind(value === 'service_account' ? 'service_account' : 'person')}
          />
          <TextInput
            label="Name"
            maxLength={200}
            value={name}
            onChange={({ currentTarget }) => setName(currentTarget.value)}
            error={error.at('name')}
            required
            data-autofocus
          />
          {kind === 'person' && (
            <TextInput
              label="Email"
              description="The first sign-in with this verified address becomes the user"
              type="email"
              value={email}
              onChange={({ currentTarget }) => setEmail(currentTarget.value)}
              error={error.at('email')}
            />
          )}
          <RoleSelect value={role} onChange={setRole} error={error.at('role')} />
          <ProblemLine error={error.rest} />
          <Group justify="flex-end" gap="sm">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={submit.isRunning} disabled={name.trim() === ''}>
              Create user
            </Button>
          </Group>
        </Stack>
      </form>
    </SidePanel>
  )
}
