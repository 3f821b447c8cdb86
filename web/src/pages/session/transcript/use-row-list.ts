import { useVirtualizer, type Virtualizer } from '@tanstack/react-virtual'
import { type KeyboardEvent, type RefObject, useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { type Row, rowOfEvent } from '../../../session-log/rows.ts'
import type { Selection } from '../selection.ts'
import type { OpenRows } from './use-open-rows.ts'

interface Options {
  readonly rows: readonly Row[]
  readonly selection: Selection
  readonly open: OpenRows
  readonly isStart: boolean
  readonly onStart: () => void
  readonly scroller: RefObject<HTMLDivElement | null>
}

/** Within this many pixels of the end the list follows it. */
const endThreshold = 48
/** Older events are loaded when one of the first rows comes into view. */
const startRows = 10
const olderHeight = 32

const estimates: Readonly<Record<Row['kind'], number>> = { prompt: 72, request: 30, item: 40, end: 40, live: 60 }

/** Scrolling, selection and reading position of the transcript. */
export function useRowList({ rows, selection, open, isStart, onStart, scroller }: Options) {
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: index => estimates[rows[index]?.kind ?? 'item'],
    getItemKey: index => rows[index]?.key ?? index,
    overscan: 8,
    paddingStart: isStart ? 8 : olderHeight,
    paddingEnd: 16,
    anchorTo: 'end',
    followOnAppend: true,
    scrollEndThreshold: endThreshold,
  })
  const latest = useRef({ rows, virtual })
  latest.current = { rows, virtual }

  const selectedAt = useMemo(
    () => (selection.eventId === undefined ? -1 : rowOfEvent(rows, selection.eventId)),
    [rows, selection.eventId],
  )
  const firstVisible = virtual.getVirtualItemForOffset(virtual.scrollOffset ?? 0)?.index ?? 0
  const unread = useUnread(rows, rows.length === 0 || virtual.isAtEnd(endThreshold))
  useOlder({ firstVisible, isStart, isEmpty: rows.length === 0, isPlaced: useIsPlaced(virtual), onStart })

  const show = useCallback(
    (index: number) => {
      if (index < 0 || index >= latest.current.rows.length) return
      latest.current.virtual.scrollToIndex(index, { align: 'auto' })
      focusRow(scroller, index)
    },
    [scroller],
  )
  const follow = useCallback(() => latest.current.virtual.scrollToEnd(), [])
  useStartAtEnd({
    hasRows: rows.length > 0,
    isWanted: selection.eventId === undefined,
    totalSize: virtual.getTotalSize(),
    scroller,
    follow,
  })
  useEndOnResize(scroller, follow)

  const current = () => {
    if (selectedAt >= 0) return selectedAt
    return virtual.isAtEnd(endThreshold) ? rows.length : firstVisible
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    const isRow = event.target instanceof HTMLElement && event.target.dataset['index'] !== undefined
    if (!isRow || (step === undefined && event.key !== 'Enter')) return
    event.preventDefault()
    if (step !== undefined) return show(current() + step)
    const row = rows[current()]
    if (row) open.toggle(row.key)
  }
  return {
    virtual,
    selectedAt,
    tabStop: selectedAt >= 0 ? selectedAt : firstVisible,
    unread,
    show,
    follow,
    current,
    onKeyDown,
  }
}

/** The row may have to be drawn first. */
function focusRow(scroller: RefObject<HTMLDivElement | null>, index: number, tries = 10): void {
  requestAnimationFrame(() => {
    const row = scroller.current?.querySelector<HTMLElement>(`[data-index="${index}"]`)
    if (row) row.focus({ preventScroll: true })
    else if (tries > 0) focusRow(scroller, index, tries - 1)
  })
}

interface StartOptions {
  readonly hasRows: boolean
  /** False when the address names an event. */
  readonly isWanted: boolean
  readonly totalSize: number
  readonly scroller: RefObject<HTMLDivElement | null>
  readonly follow: () => void
}

/** Rows get their final height shortly after they were drawn. */
const settleMs = 2_000

/** Opens at the end, and stays there while the first rows get their height, unless the reader moves. */
function useStartAtEnd({ hasRows, isWanted, totalSize, scroller, follow }: StartOptions): void {
  const until = useRef<number>(undefined)
  useEffect(() => {
    if (!hasRows || totalSize === 0) return
    until.current ??= isWanted ? performance.now() + settleMs : 0
    if (performance.now() < until.current) follow()
  }, [hasRows, isWanted, totalSize, follow])
  useEffect(() => {
    const element = scroller.current
    const release = () => {
      until.current = 0
    }
    const events = ['wheel', 'pointerdown', 'keydown', 'touchstart'] as const
    for (const name of events) element?.addEventListener(name, release, { passive: true })
    return () => {
      for (const name of events) element?.removeEventListener(name, release)
    }
  }, [scroller])
}

/** The composer grows and banners come: a reader at the end stays there when the list gets shorter. */
function useEndOnResize(scroller: RefObject<HTMLDivElement | null>, follow: () => void): void {
  useEffect(() => {
    const element = scroller.current
    if (!element) return undefined
    let height = element.clientHeight
    const observer = new ResizeObserver(() => {
      const before = height
      height = element.clientHeight
      const wasAtEnd = element.scrollHeight - element.scrollTop - before <= endThreshold
      if (wasAtEnd && height !== before) follow()
    })
    observer.observe(element)
    return () => observer.disconnect()
  }, [scroller, follow])
}

/** Returns how many rows were added since the reader left the end; undefined while the reader is there. */
function useUnread(rows: readonly Row[], isAtEnd: boolean): number | undefined {
  const [seenKey, setSeenKey] = useState<string>()
  const lastKey = rows.at(-1)?.key
  useEffect(() => {
    if (isAtEnd) setSeenKey(lastKey)
  }, [isAtEnd, lastKey])
  if (isAtEnd) return undefined
  const seenAt = seenKey === undefined ? -1 : rows.findLastIndex(({ key }) => key === seenKey)
  return seenAt < 0 ? 0 : rows.length - 1 - seenAt
}

/** False until the list has been scrolled to where it opens. A list that fits is there at once. */
function useIsPlaced({ scrollOffset, scrollRect, getTotalSize }: Virtualizer<HTMLDivElement, Element>): boolean {
  const hasMoved = useRef(false)
  if ((scrollOffset ?? 0) > 0) hasMoved.current = true
  return hasMoved.current || (scrollRect !== null && getTotalSize() <= scrollRect.height)
}

interface OlderOptions {
  readonly firstVisible: number
  readonly isStart: boolean
  readonly isEmpty: boolean
  readonly isPlaced: boolean
  readonly onStart: () => void
}

function useOlder({ firstVisible, isStart, isEmpty, isPlaced, onStart }: OlderOptions): void {
  const isNear = isPlaced && !isStart && !isEmpty && firstVisible < startRows
  useEffect(() => {
    if (isNear) onStart()
  }, [isNear, onStart])
}
