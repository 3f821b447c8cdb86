import { Button, Group, Stack } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { User, UserChange } from '../../../../src/contract/users.ts'
import { client } from '../../data/client.ts'
import { useSubmit } from '../../data/submit.ts'
import { Confirm } from '../../parts/confirm.tsx'
import { Id } from '../../parts/copy.tsx'
import { Facts } from '../../parts/facts.tsx'
import { Time } from '../../parts/figures.tsx'
import { Loading, ProblemBlock, ProblemLine } from '../../parts/page-state.tsx'
import { SafeText } from '../../parts/safe-text.tsx'
import { SidePanel } from '../../parts/side-panel.tsx'
import { userQuery } from '../../parts/user-queries.ts'
import { reloadUsers } from './queries.ts'
import { UserState } from './user-columns.tsx'
import { UserForm } from './user-form.tsx'

interface Props {
  readonly id: string
  readonly onClose: () => void
}

/** One user beside the list. */
export function UserPanel({ id, onClose }: Props) {
  const [isEditing, setEditing] = useState(false)
  const { data, error, refetch } = useQuery(userQuery(id))
  const stop = () => setEditing(false)
  return (
    <SidePanel title={data?.name ?? 'User'} onClose={isEditing ? stop : onClose}>
      {data && isEditing ? (
        <UserForm user={data} onCancel={stop} onDone={stop} />
      ) : data ? (
        <Details user={data} onEdit={() => setEditing(true)} onDeleted={onClose} />
      ) : error ? (
        <ProblemBlock error={error} what="load the user" retry={() => void refetch()} />
      ) : (
        <Loading />
      )}
    </SidePanel>
  )
}

interface DetailsProps {
  readonly user: User
  readonly onEdit: () => void
  readonly onDeleted: () => void
}

function Details({ user, onEdit, onDeleted }: DetailsProps) {
  const queries = useQueryClient()
  const [asking, setAsking] = useState<'disable' | 'delete'>()
  const params = { user_id: user.id }
  const change = async (body: UserChange) => {
    await client.users.update({ params, body })
    await reloadUsers(queries)
  }
  const enabling = useSubmit(() => change({ is_disabled: false }))
  return (
    <Stack gap="md">
      <Group gap="sm">
        <Button variant="default" onClick={onEdit}>
          Edit user
        </Button>
        {user.is_disabled ? (
          <Button variant="default" loading={enabling.isRunning} onClick={() => void enabling.send()}>
            Enable user
          </Button>
        ) : (
          <Button variant="default" onClick={() => setAsking('disable')}>
            Disable user
          </Button>
        )}
        <Button variant="default" c="var(--state-failed)" onClick={() => setAsking('delete')}>
          Delete user
        </Button>
      </Group>
      <ProblemLine error={enabling.error} />
      <Facts
        of={[
          ['State', <UserState key="state" user={user} />],
          ['Role', user.role],
          ['Kind', user.kind === 'person' ? 'person' : 'service account'],
          ['Email', user.email === null ? 'none' : <SafeText key="email" text={user.email} />],
          ['Owner', user.owner_id === user.id ? 'its own id' : <SafeText key="owner" text={user.owner_id} />],
          [
            'Teams',
            user.teams.length === 0 ? (
              'none'
            ) : (
              <SafeText key="teams" text={user.teams.map(team => team.name).join(', ')} />
            ),
          ],
          ['Signed in', <Time key="signed-in" at={user.last_sign_in_at} />],
          ['Created', <Time key="created" at={user.created_at} />],
          ['Id', <Id key="id" id={user.id} />],
        ]}
      />
      <Group gap="md">
        <Link to="/console/keys" search={{ user: user.id }}>
          API keys
        </Link>
        <Link to="/console/keys" search={{ user: user.id, create: '1' }}>
          Create API key
        </Link>
        <Link to="/console/audit" search={{ object_id: user.id }}>
          Changes
        </Link>
      </Group>
      <Confirm
        isOpen={asking === 'disable'}
        onClose={() => setAsking(undefined)}
        question={`Disable ${user.name}?`}
        consequence="Its sign-ins and keys, and what runs under them, stop within 5 seconds. Enabling the user brings the keys back."
        action="Disable user"
        run={() => change({ is_disabled: true })}
      />
      <Confirm
        isOpen={asking === 'delete'}
        onClose={() => setAsking(undefined)}
        question={`Delete ${user.name}?`}
        consequence="Its keys are revoked for good. What it created stays with its owner. A person can sign in again as a new user."
        action="Delete user"
        name={user.name}
        run={async () => {
          await client.users.remove({ params })
          onDeleted()
          await reloadUsers(queries)
        }}
      />
    </Stack>
  )
}
