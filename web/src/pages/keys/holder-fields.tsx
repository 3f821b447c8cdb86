import { Select, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { userQuery } from '../../parts/user-queries.ts'
import { UserSelect } from '../../parts/user-select.tsx'
import type { FieldsProps } from './key-fields.ts'
import { teamsOfKeysQuery } from './queries.ts'

/** Whom a key belongs to, and whose objects it uses. */
export function HolderFields({ draft, set, errorAt }: FieldsProps) {
  const userId = draft.user_id === '' ? null : draft.user_id
  return (
    <>
      <UserSelect
        label="User"
        description="Person or service account. The key stops while the user is disabled. Empty: no user"
        value={userId}
        onChange={id => set({ user_id: id ?? '', team_id: '', owner_id: '' })}
        error={errorAt('user_id')}
      />
      {userId === null ? (
        <TextInput
          label="Owner"
          description="The key sees and creates objects of this owner only. Empty: it sees those of every owner"
          maxLength={200}
          value={draft.owner_id}
          onChange={({ currentTarget }) => set({ owner_id: currentTarget.value })}
          error={errorAt('owner_id')}
        />
      ) : (
        <ActsAs userId={userId} draft={draft} set={set} errorAt={errorAt} />
      )}
    </>
  )
}

/** Whose objects the key of a user sees and creates. */
function ActsAs({ userId, draft, set, errorAt }: FieldsProps & { readonly userId: string }) {
  const { data: user } = useQuery(userQuery(userId))
  const { data } = useQuery(teamsOfKeysQuery)
  const ids = new Set(user?.teams.map(({ id }) => id))
  const teams = (data?.teams ?? []).filter(({ id }) => ids.has(id))
  return (
    <Select
      label="Acts as"
      description="A team pays for the key, and its models apply"
      data={[
        { value: '', label: user?.role === 'admin' ? 'The user, with the objects of every owner' : 'The user' },
        ...teams.map(({ id, name }) => ({ value: id, label: name })),
      ]}
      value={draft.team_id}
      onChange={id => {
        const team = teams.find(each => each.id === id)
        set({ team_id: team?.id ?? '', owner_id: team?.owner_id ?? '' })
      }}
      error={errorAt('team_id') ?? errorAt('owner_id')}
    />
  )
}
