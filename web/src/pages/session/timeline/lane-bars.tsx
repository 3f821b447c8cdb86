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

/** The bars and marks of one lane. Bars that would cover each other are drawn once. */
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
      {lane.marks.map(mark => (
        <MarkShape
          key={`${mark.rowKey}:${mark.kind}`}
          mark={mark}
          x={scale(Date.parse(mark.at)) * width}
          isSelected={mark.eventId === selected}
        />
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
    const isCovered = x + length < (lastEnd.get(bar.kind) ?? Number.NEGATIVE_INFINITY) + 0.5
    if (isCovered && !bar.isFailed) continue
    lastEnd.set(bar.kind, x + length)
    shown.push({ bar, x, length })
  }
  return shown
}

interface MarkProps {
  readonly mark: Mark
  readonly x: number
  readonly isSelected: boolean
}

const shapes: Readonly<Partial<Record<Mark['kind'], string>>> = {
  prompt: 'M-1.5 2h3v22h-3z',
  approval: 'M0 7l6 6-6 6-6-6z',
  error: 'M0 6l7 13h-14z',
}
const dot = 'M-4 13a4 4 0 1 0 8 0a4 4 0 1 0-8 0z'

function MarkShape({ mark, x, isSelected }: MarkProps) {
  return (
    <path
      className={css.mark}
      data-event={mark.eventId}
      data-kind={mark.kind}
      data-selected={isSelected || undefined}
      transform={`translate(${Math.max(2, x)} 0)`}
      d={shapes[mark.kind] ?? dot}
    >
      <title>{textOfShown(mark)}</title>
    </path>
  )
}
