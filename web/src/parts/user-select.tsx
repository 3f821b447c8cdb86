import { Select } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { User } from '../../../src/contract/users.ts'
import { foundUsersQuery, userQuery } from './user-queries.ts'

interface Props {
  readonly label: string
  readonly description?: string
  readonly value: string | null
  readonly onChange: (id: string | null) => void
  readonly error?: string | undefined
}

const labelOf = ({ name, email }: User): string => (email === null ? name : `${name} (${email})`)

/** A field that finds a user by name or email. */
export function UserSelect({ value, onChange, ...field }: Props) {
  const [text, setText] = useState('')
  const { data: chosen } = useQuery({ ...userQuery(value ?? ''), enabled: value !== null })
  // The text of the chosen user is no search.
  const { data: found } = useQuery(foundUsersQuery(chosen && text === labelOf(chosen) ? '' : text))
  const users = [...(chosen ? [chosen] : []), ...(found?.users ?? []).filter(({ id }) => id !== chosen?.id)]
  return (
    <Select
      {...field}
      placeholder="Name or email"
      data={users.map(user => ({ value: user.id, label: labelOf(user) }))}
      value={value}
      onChange={onChange}
      searchable
      clearable
      searchValue={text}
      onSearchChange={setText}
      filter={({ options }) => options}
      nothingFoundMessage="No such user"
    />
  )
}
