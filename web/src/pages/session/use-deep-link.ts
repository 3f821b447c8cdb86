import { notifications } from '@mantine/notifications'
import { useCallback, useEffect, useRef } from 'react'
import { type Row, rowOfEvent } from '../../session-log/rows.ts'
import type { SessionSource } from './log/session-source.ts'
import type { Selection } from './selection.ts'

interface Options {
  readonly rows: readonly Row[]
  readonly selection: Selection
  readonly source: SessionSource
  /** Events were loaded. */
  readonly isReady: boolean
  readonly show: (index: number) => void
}

/**
 * Shows the event that the address names, also one of an older page. Returns a function that selects an event and shows
 * it; the selection of a row by the reader does not scroll.
 */
export function useDeepLink({ rows, selection, source, isReady, show }: Options): Selection['select'] {
  const { eventId, select } = selection
  const wanted = useRef(eventId)
  // Rows change with each piece of a text; what jumps to an event must not.
  const latest = useRef(rows)
  latest.current = rows

  useEffect(() => {
    const id = wanted.current
    if (id === undefined || !isReady) return
    const index = rowOfEvent(rows, id)
    if (index >= 0) {
      wanted.current = undefined
      show(index)
      return
    }
    if (source.state.isLoadingOlder) return
    void source.loadBackTo(id).then(isFound => {
      if (isFound || source.state.olderError !== undefined || wanted.current !== id) return
      wanted.current = undefined
      notifications.show({ message: `This session has no event ${id}. Check the link.`, color: 'red' })
    })
  }, [rows, isReady, source, show])

  return useCallback(
    id => {
      select(id)
      if (id === undefined) return
      const index = rowOfEvent(latest.current, id)
      if (index >= 0) show(index)
    },
    [select, show],
  )
}
