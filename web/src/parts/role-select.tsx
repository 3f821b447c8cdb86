import { Select } from '@mantine/core'
import type { UserRole } from '../../../src/contract/users.ts'

interface Props {
  readonly value: UserRole
  readonly onChange: (role: UserRole) => void
  readonly error?: string | undefined
}

const roles: readonly { readonly value: UserRole; readonly label: string }[] = [
  { value: 'viewer', label: 'viewer: reads its objects and those of its teams' },
  { value: 'member', label: 'member: also changes them, and calls models' },
  { value: 'admin', label: 'admin: everything' },
]

/** The role of a user. */
export const RoleSelect = ({ value, onChange, error }: Props) => (
  <Select
    label="Role"
    data={[...roles]}
    value={value}
    onChange={chosen => onChange(roles.find(role => role.value === chosen)?.value ?? value)}
    error={error}
  />
)
