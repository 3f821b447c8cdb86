import { Button } from '@mantine/core'
import { IconArrowDown } from '@tabler/icons-react'
import { type RefObject, useImperativeHandle, useMemo, useRef } from 'react'
import { exactCount } from '../../../parts/format.ts'
import type { Row } from '../../../session-log/rows.ts'
import type { Selection } from '../selection.ts'
import { RowContent } from './rows.tsx'
import css from './transcript.module.css'
import type { OpenRows } from './use-open-rows.ts'
import { useRowList } from './use-row-list.ts'

export interface TranscriptHandle {
  /** Scrolls to a row and focuses it. */
  show: (index: number) => void
  /** Follows the end. */
  follow: () => void
  /** Place of the selected row, else of the first visible one. */
  current: () => number
}

interface Props {
  readonly rows: readonly Row[]
  readonly selection: Selection
  readonly open: OpenRows
  /** Places of rows that match the search. */
  readonly places: readonly number[]
  readonly isStart: boolean
  readonly isLoadingOlder: boolean
  readonly onStart: () => void
  readonly handle: RefObject<TranscriptHandle | null>
}

/** The transcript as a virtual list. It follows the end only while the reader is there. */
export function Transcript(props: Props) {
  const { rows, selection, open, places, isStart, isLoadingOlder, handle } = props
  const scroller = useRef<HTMLDivElement>(null)
  const list = useRowList({ ...props, scroller })
  useImperativeHandle(handle, () => ({ show: list.show, follow: list.follow, current: list.current }))
  const selectedAt = list.selectedAt
  const matches = useMemo(() => new Set(places), [places])
  return (
    <div className={css.area}>
      <div className={css.scroller} ref={scroller} data-testid="transcript">
        <div
          className={css.rows}
          style={{ height: list.virtual.getTotalSize() }}
          role="list"
          aria-label="Transcript"
          onKeyDown={list.onKeyDown}
        >
          {!isStart && (
            <p className={css.older} role="presentation">
              {isLoadingOlder ? 'Loading older events' : 'Older events load when you scroll up'}
            </p>
          )}
          {list.virtual.getVirtualItems().map(({ index, start, key }) => {
            const row = rows[index]
            if (!row) return null
            return (
              <div
                key={key}
                ref={list.virtual.measureElement}
                data-index={index}
                className={css.row}
                data-selected={index === selectedAt || undefined}
                data-match={matches.has(index) || undefined}
                style={{ top: start }}
                role="listitem"
                aria-setsize={rows.length}
                aria-posinset={index + 1}
                aria-current={index === selectedAt || undefined}
                tabIndex={index === list.tabStop ? 0 : -1}
                onFocus={event => event.target === event.currentTarget && select(selection, row)}
              >
                <RowContent row={row} isOpen={open.isOpen(row.key)} onToggle={open.toggle} />
              </div>
            )
          })}
        </div>
      </div>
      {list.unread !== undefined && (
        <Button
          className={css.unread ?? ''}
          variant="default"
          size="compact-sm"
          radius="xl"
          leftSection={<IconArrowDown size={14} aria-hidden />}
          onClick={list.follow}
        >
          {list.unread === 0 ? 'Go to the end' : `${exactCount(list.unread)} new`}
        </Button>
      )}
    </div>
  )
}

function select(selection: Selection, row: Row): void {
  const [eventId] = row.eventIds
  if (eventId !== undefined && !row.eventIds.includes(selection.eventId ?? '')) selection.select(eventId)
}
