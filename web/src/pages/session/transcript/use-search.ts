import { useCallback, useDeferredValue, useEffect, useMemo, useRef, useState } from 'react'
import type { Row } from '../../../session-log/rows.ts'
import { searchRows } from '../../../session-log/search.ts'

export interface Search {
  readonly isOpen: boolean
  readonly query: string
  /** Places of the rows that match. */
  readonly places: readonly number[]
  /** Which of them is marked, from 0. */
  readonly at: number | undefined
  readonly isLoading: boolean
  readonly setQuery: (query: string) => void
  /** Shows the next match, or with -1 the previous one. */
  readonly move: (step: 1 | -1) => void
  readonly open: () => void
  readonly close: () => void
}

interface Options {
  readonly rows: readonly Row[]
  readonly isLoading: boolean
  /** Loads the whole log: older events may match, too. */
  readonly loadAll: () => void
  readonly show: (index: number) => void
}

/** Search in the rows of the transcript. */
export function useSearch({ rows, isLoading, loadAll, show }: Options): Search {
  const [isOpen, setOpen] = useState(false)
  const [query, setQuery] = useState('')
  const [shownKey, setShownKey] = useState<string>()
  const wanted = useDeferredValue(isOpen ? query : '')
  const places = useMemo(() => searchRows(rows, wanted), [rows, wanted])
  const shownAt = places.findIndex(place => rows[place]?.key === shownKey)
  const hasQuery = wanted.trim() !== ''
  const load = useRef(loadAll)
  load.current = loadAll
  useEffect(() => {
    if (hasQuery) load.current()
  }, [hasQuery])

  const move = (step: 1 | -1) => {
    if (places.length === 0) return
    // The newest match comes first, because the transcript opens at its end.
    const next = shownAt < 0 ? places.length - 1 : (shownAt + step + places.length) % places.length
    const place = places[next] ?? 0
    setShownKey(rows[place]?.key)
    show(place)
  }
  const open = useCallback(() => setOpen(true), [])
  const close = useCallback(() => setOpen(false), [])
  return { isOpen, query, places, at: shownAt < 0 ? undefined : shownAt, isLoading, setQuery, move, open, close }
}
