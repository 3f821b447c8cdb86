import { useVirtualizer } from '@tanstack/react-virtual'
import { type KeyboardEvent, type MouseEvent, useEffect, useRef } from 'react'
import type { SessionEvent } from '../../../../../../src/client/index.ts'
import { SafeText } from '../../../../parts/safe-text.tsx'
import { eventSummary } from './event-summary.ts'
import css from './events.module.css'

interface Props {
  readonly events: readonly SessionEvent[]
  readonly selectedId: string | undefined
  readonly onSelect: (eventId: string) => void
}

const rowHeight = 30

/** One line an event. Arrow keys change the selection; only visible lines are in the document. */
export function EventList({ events, selectedId, onSelect }: Props) {
  const scroller = useRef<HTMLDivElement>(null)
  const { getVirtualItems, getTotalSize, scrollToIndex } = useVirtualizer({
    count: events.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 20,
  })
  const selected = selectedId === undefined ? -1 : events.findIndex(({ id }) => id === selectedId)
  const last = events.length - 1
  // Also when the event is selected elsewhere; without a selection the newest are shown.
  useEffect(() => {
    if (selectedId !== undefined && selected >= 0) scrollToIndex(selected, { align: 'auto' })
  }, [selectedId, selected, scrollToIndex])
  const isPlaced = useRef(false)
  useEffect(() => {
    if (isPlaced.current || last < 0) return
    // Once: later events must not move what a person reads.
    isPlaced.current = true
    if (selected < 0) scrollToIndex(last)
  }, [selected, last, scrollToIndex])

  const onKeyDown = (event: KeyboardEvent) => {
    const next = { ArrowDown: Math.min(last, selected + 1), ArrowUp: Math.max(0, selected - 1), Home: 0, End: last }[
      event.key
    ]
    const chosen = next === undefined ? undefined : events[next]
    if (!chosen) return
    event.preventDefault()
    onSelect(chosen.id)
  }
  const onClick = ({ target }: MouseEvent) => {
    const id = (target as Element).closest<HTMLElement>('[data-id]')?.dataset['id']
    if (id !== undefined) onSelect(id)
  }
  return (
    <div
      className={css.list}
      ref={scroller}
      role="listbox"
      tabIndex={0}
      aria-label="Events"
      aria-activedescendant={selected >= 0 ? `event-${selected}` : undefined}
      onKeyDown={onKeyDown}
      onClick={onClick}
    >
      <div className={css.lines} style={{ height: getTotalSize() }}>
        {getVirtualItems().map(({ index, start }) => {
          const event = events[index] as SessionEvent
          return (
            <div
              key={event.id}
              id={`event-${index}`}
              data-id={event.id}
              className={css.line}
              style={{ transform: `translateY(${start}px)` }}
              role="option"
              aria-selected={index === selected}
              aria-setsize={events.length}
              aria-posinset={index + 1}
            >
              <span className={`${css.seq} numbers`}>{event.seq}</span>
              <span className="mono">
                <SafeText text={event.type} />
              </span>
              <span className="soft clip">
                <SafeText text={eventSummary(event)} />
              </span>
            </div>
          )
        })}
      </div>
    </div>
  )
}
