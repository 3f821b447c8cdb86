import { useState } from 'react'

interface Row {
  readonly id: string
  readonly created_at: string
}

interface Shown<R extends Row> {
  readonly shown: readonly R[]
  /** Number of rows that came since the list was opened. */
  readonly fresh: number
  readonly showFresh: () => void
}

/**
 * Keeps a live list from jumping: rows that are newer than the first one at the time of opening are counted, not shown, until
 * the person asks for them. `key` identifies the list; another one starts again.
 */
export function useNewRows<R extends Row>(rows: readonly R[], key: string): Shown<R> {
  const [opened, setOpened] = useState<{ readonly key: string; readonly newest: string } | undefined>()
  const [first] = rows
  const isCurrent = opened?.key === key
  if (first && !isCurrent) setOpened({ key, newest: first.created_at })
  const newest = isCurrent ? opened.newest : first?.created_at
  const shown = newest === undefined ? rows : rows.filter(({ created_at }) => created_at <= newest)
  return {
    shown,
    fresh: rows.length - shown.length,
    showFresh: () => first && setOpened({ key, newest: first.created_at }),
  }
}
