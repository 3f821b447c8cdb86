import { Button, Group, Select, Stack, TextInput } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { User } from '../../../../src/contract/users.ts'
import { client } from '../../data/client.ts'
import { formErrorOf } from '../../data/form-error.ts'
import { useSubmit } from '../../data/submit.ts'
import { ProblemLine } from '../../parts/page-state.tsx'
import { RoleSelect } from '../../parts/role-select.tsx'
import { reloadUsers } from './queries.ts'

interface Props {
  /** User to change; absent for a new one. */
  readonly user?: User
  readonly onCancel: () => void
  readonly onDone: (user: User) => void
}

/** Kind, name, email and role of a person or a service account. The kind of a user never changes. */
export function UserForm({ user, onCancel, onDone }: Props) {
  const queries = useQueryClient()
  const [kind, setKind] = useState<User['kind']>(user?.kind ?? 'person')
  const [role, setRole] = useState<User['role']>(user?.role ?? 'member')
  const [name, setName] = useState(user?.name ?? '')
  const [email, setEmail] = useState(user?.email ?? '')
  const submit = useSubmit(async () => {
    const body = { name: name.trim(), role, email: kind === 'person' && email.trim() !== '' ? email.trim() : null }
    const done = user
      ? await client.users.update({ params: { user_id: user.id }, body })
      : await client.users.create({ body: { kind, ...body } })
    await reloadUsers(queries)
    onDone(done)
  })
  const error = formErrorOf(submit.error, ['name', 'email', 'role'])
  return (
    <form onSubmit={event => void submit.send(event)}>
      <Stack gap="md">
        {!user && (
          <Select
            label="Kind"
            data={[
              { value: 'person', label: 'A person, who signs in' },
              { value: 'service_account', label: 'A service account, which only has keys' },
            ]}
            value={kind}
            onChange={value => setKind(value === 'service_account' ? 'service_account' : 'person')}
          />
        )}
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
            description={user ? undefined : 'The first sign-in with this verified address becomes the user'}
            type="email"
            value={email}
            onChange={({ currentTarget }) => setEmail(currentTarget.value)}
            error={error.at('email')}
          />
        )}
        <RoleSelect value={role} onChange={setRole} error={error.at('role')} />
        <ProblemLine error={error.rest} />
        <Group justify="flex-end" gap="sm">
          <Button variant="default" onClick={onCancel}>
            Cancel
          </Button>
          <Button type="submit" loading={submit.isRunning} disabled={name.trim() === ''}>
            {user ? 'Save user' : 'Create user'}
          </Button>
        </Group>
      </Stack>
    </form>
  )
}
