import type { Bar, Lane, Mark } from '../../../session-log/timeline.ts'
import { textOfShown } from './entries.ts'
import type { Scale } from './scale.ts'
import css from './timeline.module.css'

interface Props {
  readonly lane: Lane
  readonly width: number
  readonly scale: Scale
  readonly now: number
  readonly selected: string | undefined
  readonly onSelect: (eventId: string) => void
}

const height = 26
const minBar = 2

interface Placed {
  readonly bar: Bar
  readonly x: number
  readonly length: number
}

/** The bars and marks of one lane. Those that would cover each other are drawn once. */
export function LaneBars({ lane, width, scale, now, selected, onSelect }: Props) {
  const onClick = ({ target }: { readonly target: EventTarget }) => {
    const id = target instanceof Element ? target.closest('[data-event]')?.getAttribute('data-event') : undefined
    if (id) onSelect(id)
  }
  const bars = placed(lane.bars, { width, scale, now })
  return (
    <svg className={css.lines} width={width} height={height} onClick={onClick} aria-hidden>
      {bars.map(({ bar, x, length }) => (
        <rect
          key={`${bar.rowKey}:${bar.kind}:${bar.from}`}
          className={css.bar}
          data-event={bar.eventId}
          data-kind={bar.kind}
          data-failed={bar.isFailed || undefined}
          data-selected={bar.eventId === selected || undefined}
          x={x}
          y={bar.kind === 'model' ? 5 : 8}
          width={length}
          height={bar.kind === 'model' ? 16 : 10}
          rx={1.5}
        >
          <title>{textOfShown(bar)}</title>
        </rect>
      ))}
      {placedMarks(lane.marks, { width, scale }).map(({ mark, x }) => (
        <MarkShape key={`${mark.rowKey}:${mark.kind}`} mark={mark} x={x} isSelected={mark.eventId === selected} />
      ))}
    </svg>
  )
}

function placed(bars: readonly Bar[], { width, scale, now }: Pick<Props, 'width' | 'scale' | 'now'>): Placed[] {
  const shown: Placed[] = []
  const lastEnd = new Map<Bar['kind'], number>()
  for (const bar of bars) {
    const x = scale(Date.parse(bar.from)) * width
    const end = scale(bar.to === undefined ? now : Date.parse(bar.to)) * width
    const length = Math.max(minBar, end - x - 1)
    const isCovered = x + length < (lastEnd.get(bar.kind) ?? Number.NEGATIVE_INFINITY) + 1
    if (isCovered && !bar.isFailed) continue
    lastEnd.set(bar.kind, x + length)
    shown.push({ bar, x, length })
  }
  return shown
}

interface PlacedMark {
  readonly mark: Mark
  readonly x: number
}

/** Minimum distance of two marks of a kind, in pixels. */
const markDistance = 2

function placedMarks(marks: readonly Mark[], { width, scale }: Pick<Props, 'width' | 'scale'>): PlacedMark[] {
  const last = new Map<Mark['kind'], number>()
  return marks.flatMap(mark => {
    const x = Math.round(scale(Date.parse(mark.at)) * width * 10) / 10
    if (x - (last.get(mark.kind) ?? Number.NEGATIVE_INFINITY) < markDistance) return []
    last.set(mark.kind, x)
    return [{ mark, x }]
  })
}

interface MarkProps {
  readonly mark: Mark
  readonly x: number
  readonly isSelected: boolean
}

/** Paths from their middle on. Coordinates instead of a transform, which would give each mark a paint layer. */
const shapes: Readonly<Partial<Record<Mark['kind'], (x: number) => string>>> = {
  prompt: x => `M${x - 1.5} 2h3v22h-3z`,
  approval: x => `M${x} 7l6 6-6 6-6-6z`,
  error: x => `M${x} 6l7 13h-14z`,
}
const dot = (x: number): string => `M${x - 4} 13a4 4 0 1 0 8 0a4 4 0 1 0-8 0z`

function MarkShape({ mark, x, isSelected }: MarkProps) {
  return (
    <path
      className={css.mark}
      data-event={mark.eventId}
      data-kind={mark.kind}
      data-selected={isSelected || undefined}
      d={(shapes[mark.kind] ?? dot)(Math.max(2, x))}
    >
      <title>{textOfShown(mark)}</title>
    </path>
  )
}
