import { Select, type SelectProps } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { agentChoicesQuery } from '../data/agents.ts'
import { problemOf } from '../data/problem.ts'

interface Props {
  readonly label: string
  readonly description?: string
  readonly value: string | undefined
  readonly onChange: (agentId: string) => void
  readonly error?: string | undefined
  readonly size?: SelectProps['size']
  /** True shows no label above the field; it stays the name of the field. */
  readonly isInline?: boolean
  /** Agents that cannot be chosen. */
  readonly without?: readonly string[]
}

/** A field that chooses an agent by its name. */
export function AgentSelect(props: Props) {
  const { label, description, value, onChange, error, size, isInline = false, without = [] } = props
  const { data = [], isPending, error: loadError } = useQuery(agentChoicesQuery)
  const choices = data
    .filter(({ id, status }) => id === value || (status !== 'archived' && !without.includes(id)))
    .map(({ id, name }) => ({ value: id, label: name }))
  // An agent beyond the newest 1,000, or a deleted one, is shown by its id.
  const isKnown = value === undefined || isPending || choices.some(choice => choice.value === value)
  return (
    <Select
      {...(isInline ? { 'aria-label': label } : { label })}
      description={description}
      placeholder="Choose an agent"
      data={isKnown ? choices : [...choices, { value: value ?? '', label: value ?? '' }]}
      value={value ?? null}
      onChange={next => next !== null && onChange(next)}
      error={error ?? (loadError && `agents could not be loaded: ${problemOf(loadError).message}`)}
      searchable
      nothingFoundMessage="No agent has this name"
      {...(size && { size })}
    />
  )
}
