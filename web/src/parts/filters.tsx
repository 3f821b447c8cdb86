import { Button, Pill, Select, TextInput } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { IconSearch, IconX } from '@tabler/icons-react'
import { useEffect, useRef, useState } from 'react'
import { isTyping } from './keys.ts'

interface SearchProps {
  readonly value: string | undefined
  readonly onChange: (value: string | undefined) => void
  readonly label: string
}

/** The search field of a list; `/` focuses it. */
export function SearchFilter({ value, onChange, label }: SearchProps) {
  const [text, setText] = useState(value ?? '')
  const field = useRef<HTMLInputElement>(null)
  const send = useDebouncedCallback((next: string) => onChange(next === '' ? undefined : next), 250)
  useEffect(() => setText(value ?? ''), [value])
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== '/' || isTyping(event)) return
      event.preventDefault()
      field.current?.focus()
    }
    window.addEventListener('keydown', onKey)
    return () => window.removeEventListener('keydown', onKey)
  }, [])
  return (
    <TextInput
      ref={field}
      type="search"
      size="xs"
      w={220}
      aria-label={label}
      placeholder={label}
      leftSection={<IconSearch size={14} aria-hidden />}
      value={text}
      onChange={({ currentTarget }) => {
        setText(currentTarget.value)
        send(currentTarget.value)
      }}
    />
  )
}

interface ChoiceProps {
  readonly label: string
  readonly value: string | undefined
  readonly options: readonly (string | { readonly value: string; readonly label: string })[]
  readonly onChange: (value: string | undefined) => void
}

/** A filter with one of several values; empty shows all. */
export function ChoiceFilter({ label, value, options, onChange }: ChoiceProps) {
  return (
    <Select
      size="xs"
      w={170}
      aria-label={label}
      placeholder={label}
      data={options.map(option => (typeof option === 'string' ? { value: option, label: option } : option))}
      value={value ?? null}
      onChange={next => onChange(next ?? undefined)}
      clearable
      searchable={options.length > 8}
      comboboxProps={{ withinPortal: true }}
    />
  )
}

interface ChipsProps {
  /** Active filters by name; those without a value are not shown. */
  readonly active: Readonly<Record<string, string | number | undefined>>
  readonly onRemove: (name: string) => void
  readonly onClear: () => void
}

/** The active filters, each removable. */
export function FilterChips({ active, onRemove, onClear }: ChipsProps) {
  const chips = Object.entries(active).filter(([, value]) => value !== undefined)
  if (chips.length === 0) return null
  return (
    <>
      {chips.map(([name, value]) => (
        <Pill
          key={name}
          withRemoveButton
          onRemove={() => onRemove(name)}
          removeButtonProps={{ 'aria-label': `Remove filter ${name}` }}
        >
          {name}: {value}
        </Pill>
      ))}
      <Button variant="subtle" size="compact-xs" leftSection={<IconX size={12} />} onClick={onClear}>
        Clear filters
      </Button>
    </>
  )
}
