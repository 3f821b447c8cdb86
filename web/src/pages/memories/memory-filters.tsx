import { TextInput } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { useEffect, useState } from 'react'
import type { MemorySource } from '../../../../src/contract/memories.ts'
import { present } from '../../data/present.ts'
import { useAddress } from '../../parts/address.ts'
import { ChoiceFilter, FilterChips, SearchFilter } from '../../parts/filters.tsx'
import type { MemoryFilters } from './queries.ts'

type Name = 'q' | 'tag' | 'type' | 'source' | 'state'

/** Filters of the list, which are in the address. */
export interface Filtering {
  readonly filters: MemoryFilters
  readonly address: Readonly<Partial<Record<Name, string>>>
  readonly isFiltered: boolean
  readonly change: (changes: Partial<Record<Name, string | undefined>>) => void
  readonly clear: () => void
}

const sources: readonly MemorySource[] = ['agent', 'ui', 'slack']
const states = ['enabled', 'disabled'] as const

export function useMemoryFilters(): Filtering {
  const [{ q, tag, type, source, state }, change] = useAddress<Name>()
  const address = present({ q, tag, type, source, state })
  const known = states.find(each => each === state)
  const filters = {
    q,
    tag,
    type,
    source: sources.find(each => each === source),
    disabled: known === undefined ? undefined : known === 'disabled',
  }
  return {
    filters,
    address,
    isFiltered: Object.values(filters).some(value => value !== undefined),
    change,
    clear: () => change({ q: undefined, tag: undefined, type: undefined, source: undefined, state: undefined }),
  }
}

export function MemoryFilterBar({ filtering }: { readonly filtering: Filtering }) {
  const { address, change, clear } = filtering
  const { q, ...chips } = address
  return (
    <>
      <SearchFilter value={q} onChange={next => change({ q: next })} label="Search texts" />
      <ExactFilter label="Type" value={address.type} onChange={type => change({ type })} />
      <ExactFilter label="Tag" value={address.tag} onChange={tag => change({ tag })} />
      <ChoiceFilter
        label="Source"
        value={address.source}
        options={[
          { value: 'agent', label: 'Saved by the agent' },
          { value: 'ui', label: 'Added by a person' },
          { value: 'slack', label: 'From Slack' },
        ]}
        onChange={source => change({ source })}
      />
      <ChoiceFilter label="State" value={address.state} options={states} onChange={state => change({ state })} />
      <FilterChips active={chips} onRemove={name => change({ [name]: undefined })} onClear={clear} />
    </>
  )
}

interface ExactProps {
  readonly label: string
  readonly value: string | undefined
  readonly onChange: (value: string | undefined) => void
}

const pauseMs = 300

/** A filter by a whole word that people choose freely. */
function ExactFilter({ label, value, onChange }: ExactProps) {
  const [text, setText] = useState(value ?? '')
  const send = useDebouncedCallback((next: string) => onChange(next === '' ? undefined : next), pauseMs)
  useEffect(() => setText(value ?? ''), [value])
  return (
    <TextInput
      aria-label={label}
      placeholder={label}
      size="xs"
      w={110}
      value={text}
      onChange={({ currentTarget }) => {
        setText(currentTarget.value)
        send(currentTarget.value)
      }}
      maxLength={200}
    />
  )
}
