import type { User } from '../../../../src/contract/users.ts'
import type { Column } from '../../parts/data-table.tsx'
import { Time } from '../../parts/figures.tsx'
import { SafeText } from '../../parts/safe-text.tsx'
import { StatePill } from '../../parts/state-pill.tsx'

/** Says whether a user may use the service. */
export const UserState = ({ user }: { readonly user: User }) =>
  user.is_disabled ? <StatePill state="stopped" word="disabled" /> : <StatePill state="done" word="active" />

const name: Column<User> = {
  key: 'name',
  title: 'Name',
  width: 'minmax(140px, 1.4fr)',
  cell: user => <SafeText text={user.name} />,
}
const state: Column<User> = {
  key: 'state',
  title: 'State',
  width: '112px',
  cell: user => <UserState user={user} />,
}
const role: Column<User> = { key: 'role', title: 'Role', width: '80px', cell: user => user.role }

export const fewColumns: readonly Column<User>[] = [name, state, role]

export const allColumns: readonly Column<User>[] = [
  name,
  state,
  role,
  {
    key: 'email',
    title: 'Email',
    width: 'minmax(120px, 1.2fr)',
    cell: ({ email, kind }) =>
      email === null ? (
        <span className="soft">{kind === 'person' ? 'none' : 'service account'}</span>
      ) : (
        <SafeText text={email} />
      ),
    isNarrow: false,
  },
  {
    key: 'teams',
    title: 'Teams',
    width: 'minmax(100px, 1fr)',
    cell: ({ teams }) =>
      teams.length === 0 ? (
        <span className="soft">none</span>
      ) : (
        <SafeText text={teams.map(team => team.name).join(', ')} />
      ),
    isNarrow: false,
  },
  {
    key: 'signed-in',
    title: 'Signed in',
    width: '96px',
    cell: ({ last_sign_in_at }) => <Time at={last_sign_in_at} />,
    isNarrow: false,
  },
]
