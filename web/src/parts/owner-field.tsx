import { TextInput } from '@mantine/core'
import { useState } from 'react'
import { useMe } from '../data/sign-in.tsx'

interface Props {
  readonly value: string
  readonly onChange: (owner: string) => void
  readonly error?: string | undefined
}

/** The owner of a new agent: that of the person, else whom they choose. */
export function useOwner() {
  const { owner_id: own, principal } = useMe()
  return useState(own ?? principal)
}

/** The owner of a new agent. Absent for a person who has an owner, since all of their agents are of it. */
export function OwnerField({ value, onChange, error }: Props) {
  if (useMe().owner_id !== null) return null
  return (
    <TextInput
      label="Owner"
      description="Whose agent it is: keys of this owner see and use it"
      value={value}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
      error={error}
      maxLength={200}
      required
    />
  )
}
