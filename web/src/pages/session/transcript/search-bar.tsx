import { ActionIcon, TextInput } from '@mantine/core'
import { IconChevronDown, IconChevronUp, IconSearch, IconX } from '@tabler/icons-react'
import { type KeyboardEvent, useEffect, useRef } from 'react'
import css from './search-bar.module.css'
import type { Search } from './use-search.ts'

/** Searches the whole session: the browser's own search sees only the rows that are drawn. */
export function SearchBar({ search }: { readonly search: Search }) {
  const field = useRef<HTMLInputElement>(null)
  useEffect(() => {
    if (search.isOpen) field.current?.select()
  }, [search.isOpen])
  if (!search.isOpen) return null
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Enter') search.move(event.shiftKey ? -1 : 1)
    if (event.key !== 'Escape') return
    event.stopPropagation()
    search.close()
  }
  return (
    <search className={css.bar}>
      <TextInput
        ref={field}
        size="xs"
        className={css.field ?? ''}
        aria-label="Search this session"
        placeholder="Search this session"
        leftSection={<IconSearch size={14} aria-hidden />}
        value={search.query}
        onChange={({ currentTarget }) => search.setQuery(currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      <span className={`${css.count} numbers`} role="status">
        {countText(search)}
      </span>
      <ActionIcon size="sm" aria-label="Previous match" onClick={() => search.move(-1)}>
        <IconChevronUp size={14} />
      </ActionIcon>
      <ActionIcon size="sm" aria-label="Next match" onClick={() => search.move(1)}>
        <IconChevronDown size={14} />
      </ActionIcon>
      <ActionIcon size="sm" aria-label="Close search" onClick={search.close}>
        <IconX size={14} />
      </ActionIcon>
    </search>
  )
}

function countText({ query, places, at, isLoading }: Search): string {
  if (query.trim() === '') return ''
  if (places.length === 0) return isLoading ? 'searching older events' : 'no match'
  const place = at === undefined ? `${places.length}` : `${at + 1} of ${places.length}`
  return isLoading ? `${place}, searching older events` : place
}
