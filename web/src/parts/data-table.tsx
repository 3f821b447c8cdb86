import { useVirtualizer } from '@tanstack/react-virtual'
import { type KeyboardEvent, type ReactNode, useEffect, useRef } from 'react'
import css from './data-table.module.css'
import { isTyping } from './keys.ts'

export interface Column<Row> {
  readonly key: string
  readonly title: string
  /** A grid track: `1fr`, `minmax(160px, 2fr)`, `96px`. */
  readonly width: string
  readonly cell: (row: Row) => ReactNode
  readonly align?: 'end'
  /** False hides the column below 720 px. */
  readonly isNarrow?: boolean
  /** True: takes the space that the others leave on a narrow screen, instead of the first column there. */
  readonly isMain?: true
}

interface Props<Row> {
  readonly rows: readonly Row[]
  readonly columns: readonly Column<Row>[]
  readonly keyOf: (row: Row) => string
  /** Name of the table for screen readers: `Sessions`. */
  readonly label: string
  /** Opens a row, in a side panel or, with Shift, as a page. */
  readonly onOpen?: ((row: Row, isPage: boolean) => void) | undefined
  /** Row that is open. */
  readonly selected?: string | undefined
  /** Called when the last rows come into view and more exist. */
  readonly onEnd?: (() => void) | undefined
}

const rowHeight = 36

/** A list of objects in rows of one line. `j` and `k` move, `Enter` opens. Only visible rows are in the document. */
export function DataTable<Row>({ rows, columns, keyOf, label, onOpen, selected, onEnd }: Props<Row>) {
  const scroller = useRef<HTMLDivElement>(null)
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 12,
  })
  const items = virtual.getVirtualItems()
  const lastIndex = items.at(-1)?.index ?? 0

  useEffect(() => {
    if (rows.length > 0 && lastIndex >= rows.length - 5) onEnd?.()
  }, [lastIndex, rows.length, onEnd])

  const focusRow = (index: number) => {
    if (index < 0 || index >= rows.length) return
    virtual.scrollToIndex(index)
    requestAnimationFrame(() => scroller.current?.querySelector<HTMLElement>(`[data-index="${index}"]`)?.focus())
  }
  useRowKeys(scroller, focusRow)

  const onKeyDown = (event: KeyboardEvent, row: Row) => {
    if (event.key !== 'Enter' || event.target !== event.currentTarget) return
    event.preventDefault()
    onOpen?.(row, event.shiftKey)
  }
  const tracks = { gridTemplateColumns: columns.map(({ width }) => width).join(' ') }
  const first = columns.some(({ isMain }) => isMain) ? undefined : columns.find(({ isNarrow }) => isNarrow !== false)
  const cellClass = (column: Column<Row>) =>
    [
      css.cell,
      column.align === 'end' && css.end,
      column.isNarrow === false && css.wide,
      column.isMain && css.main,
      column === first && css.first,
    ]
      .filter(Boolean)
      .join(' ')

  return (
    <div className={css.scroller} ref={scroller} role="table" aria-label={label} aria-rowcount={rows.length + 1}>
      <div className={css.head} style={tracks} role="row" aria-rowindex={1}>
        {columns.map(column => (
          <div key={column.key} className={cellClass(column)} role="columnheader">
            {column.title}
          </div>
        ))}
      </div>
      <div role="rowgroup" className={css.body} style={{ height: virtual.getTotalSize() }}>
        {items.map(({ index, start }) => {
          const row = rows[index] as Row
          const key = keyOf(row)
          return (
            <div
              key={key}
              data-index={index}
              className={css.row}
              style={{ ...tracks, transform: `translateY(${start}px)` }}
              role="row"
              aria-rowindex={index + 2}
              aria-selected={selected === undefined ? undefined : selected === key}
              tabIndex={index === 0 || selected === key ? 0 : -1}
              data-opens={onOpen !== undefined || undefined}
              onClick={event => onOpen?.(row, event.shiftKey)}
              onKeyDown={event => onKeyDown(event, row)}
            >
              {columns.map(column => (
                <div key={column.key} className={cellClass(column)} role="cell">
                  {column.cell(row)}
                </div>
              ))}
            </div>
          )
        })}
      </div>
    </div>
  )
}

/** `j` and `k` move the focus, from the focused row or to the first one. */
function useRowKeys(scroller: { readonly current: HTMLElement | null }, focusRow: (index: number) => void): void {
  const latest = useRef(focusRow)
  latest.current = focusRow
  useEffect(() => {
    const onKey = (event: globalThis.KeyboardEvent) => {
      if ((event.key !== 'j' && event.key !== 'k') || isTyping(event)) return
      const focused = document.activeElement?.closest<HTMLElement>('[data-index]')
      const isHere = focused && scroller.current?.contains(focused)
      const index = isHere ? Number(focused.dataset['index']) : -1
      event.preventDefault()
      latest.current(event.key === 'j' ? index + 1 : Math.max(0, index - 1))
    }
    window.addEventListener('keydown', onKey)
    return () => window.removeEventListener('keydown', onKey)
  }, [scroller])
}
