import { ActionIcon, Tooltip } from '@mantine/core'
import { useElementSize } from '@mantine/hooks'
import { IconArrowsHorizontal, IconMinus, IconPlus } from '@tabler/icons-react'
import { type KeyboardEvent, memo, useDeferredValue, useEffect, useMemo, useRef, useState } from 'react'
import { timeOfDay } from '../../../parts/format.ts'
import { useNow } from '../../../parts/now.ts'
import { SafeText } from '../../../parts/safe-text.tsx'
import { type Timeline as TimelineData, timelineOf } from '../../../session-log/timeline.ts'
import type { View } from '../../../session-log/view.ts'
import { type Entry, entriesOf } from './entries.ts'
import { LaneBars } from './lane-bars.tsx'
import { scaleOf } from './scale.ts'
import css from './timeline.module.css'

interface Props extends Pick<View, 'turns' | 'log'> {
  readonly selected: string | undefined
  /** Shows and selects an event. */
  readonly onSelect: (eventId: string) => void
}

const maxZoom = 64
const labelWidth = 96

/** Model requests, tool calls and what happened, over time. A click or an arrow key jumps to it in the transcript. */
export const Timeline = memo(function Timeline({ turns, log, selected, onSelect }: Props) {
  const [zoom, setZoom] = useState(1)
  const { ref, width } = useElementSize()
  const data = useMemo(() => timelineOf({ turns, log }), [turns, log])
  const shown = useDeferredValue(data)
  const entries = useMemo(() => entriesOf(shown), [shown])
  const scroller = useRef<HTMLDivElement>(null)
  const hasLanes = shown.lanes.length > 1
  const inner = Math.max(0, (width - (hasLanes ? labelWidth : 0)) * zoom)
  useEnd(scroller, inner, data.to)
  if (shown.from === undefined) return null

  const onKeyDown = (event: KeyboardEvent) => {
    const next = neighbour(entries, selected, event.key)
    if (!next) return
    event.preventDefault()
    onSelect(next.eventId)
  }
  return (
    <section className={css.timeline} aria-label="Timeline">
      <div
        className={css.track}
        ref={ref}
        role="group"
        tabIndex={0}
        aria-label="Bars and marks; the arrow keys move through them"
        onKeyDown={onKeyDown}
      >
        <div className={css.scroller} ref={scroller}>
          <Lanes data={shown} width={inner} selected={selected} onSelect={onSelect} hasLabels={hasLanes} />
        </div>
      </div>
      <div className={css.zoom}>
        <ZoomButton
          label="Zoom in"
          onClick={() => setZoom(Math.min(maxZoom, zoom * 2))}
          icon={<IconPlus size={12} />}
        />
        <ZoomButton label="Zoom out" onClick={() => setZoom(Math.max(1, zoom / 2))} icon={<IconMinus size={12} />} />
        <ZoomButton label="Fit to width" onClick={() => setZoom(1)} icon={<IconArrowsHorizontal size={12} />} />
      </div>
      <EntryList entries={entries} />
    </section>
  )
})

function Lanes(props: {
  readonly data: TimelineData
  readonly width: number
  readonly selected: string | undefined
  readonly onSelect: (eventId: string) => void
  readonly hasLabels: boolean
}) {
  const { data, width, hasLabels } = props
  const isOpen = data.lanes.some(({ bars }) => bars.some(({ to }) => to === undefined))
  return isOpen ? <RunningLanes {...props} /> : <LaneRows {...props} now={0} key={hasLabels ? width : 0} />
}

/** Only while something is open the bars grow with the clock. */
function RunningLanes(props: Parameters<typeof Lanes>[0]) {
  return <LaneRows {...props} now={useNow()} />
}

function LaneRows({
  data,
  width,
  selected,
  onSelect,
  hasLabels,
  now,
}: Parameters<typeof Lanes>[0] & { readonly now: number }) {
  const scale = useMemo(() => scaleOf(data, now), [data, now])
  return data.lanes.map(lane => (
    <div key={lane.key} className={css.lane}>
      {hasLabels && (
        <div className={`${css.laneLabel} clip`}>
          <SafeText text={lane.label} />
        </div>
      )}
      <LaneBars lane={lane} width={width} scale={scale} now={now} selected={selected} onSelect={onSelect} />
    </div>
  ))
}

function ZoomButton({ label, onClick, icon }: { label: string; onClick: () => void; icon: React.ReactNode }) {
  return (
    <Tooltip label={label}>
      <ActionIcon size="xs" aria-label={label} onClick={onClick}>
        {icon}
      </ActionIcon>
    </Tooltip>
  )
}

const listed = 200

/** The same for screen readers. The transcript has everything; this list has the last entries. */
function EntryList({ entries }: { readonly entries: readonly Entry[] }) {
  return (
    <ol className="visually-hidden" aria-label={`The last ${Math.min(listed, entries.length)} bars and marks`}>
      {entries.slice(-listed).map(({ eventId, label, at }) => (
        <li key={`${eventId}:${label}:${at}`}>
          {label}, {timeOfDay(at)}
        </li>
      ))}
    </ol>
  )
}

/** A zoomed timeline shows its end when it grows. */
function useEnd(scroller: { readonly current: HTMLDivElement | null }, width: number, to: string | undefined): void {
  useEffect(() => {
    if (scroller.current && width > 0 && to !== undefined) scroller.current.scrollLeft = scroller.current.scrollWidth
  }, [scroller, width, to])
}

function neighbour(entries: readonly Entry[], selected: string | undefined, key: string): Entry | undefined {
  if (key === 'Home') return entries[0]
  if (key === 'End') return entries.at(-1)
  const step = { ArrowRight: 1, ArrowLeft: -1 }[key]
  if (step === undefined) return undefined
  const at = entries.findIndex(({ eventId }) => eventId === selected)
  return at < 0 ? entries.at(-1) : entries[Math.min(entries.length - 1, Math.max(0, at + step))]
}
