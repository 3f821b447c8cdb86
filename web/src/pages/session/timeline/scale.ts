import type { Timeline } from '../../../session-log/timeline.ts'

/** Maps milliseconds since 1970 to a part of the width, from 0 to 1. */
export type Scale = (ms: number) => number

interface Segment {
  readonly from: number
  readonly to: number
  /** Width in milliseconds as shown. */
  readonly width: number
  readonly start: number
}

/** A pause takes at most this part of the time in which the session worked. */
const maxPausePart = 0.05
const minPauseMs = 500

/**
 * Returns a scale on which times with work are proportional, and pauses between them are shortened: a session that waited
 * for a night still shows its work.
 */
export function scaleOf({ from, to, lanes }: Timeline, nowMs: number): Scale {
  if (from === undefined) return () => 0
  const start = Date.parse(from)
  const bars = lanes.flatMap(lane => lane.bars)
  const works = bars
    .filter(({ kind }) => kind !== 'wait')
    .map(bar => [Date.parse(bar.from), endOf(bar.to, nowMs)] as const)
  const isOpen = bars.some(bar => bar.to === undefined)
  const end = Math.max(isOpen ? nowMs : Date.parse(to ?? from), ...works.map(([, last]) => last), start + 1)
  const segments = segmentsOf(merged(works), start, end)
  const total = segments.reduce((sum, { width }) => sum + width, 0)
  return ms => placeIn(segments, Math.min(Math.max(ms, start), end)) / total
}

const endOf = (to: string | undefined, nowMs: number): number => (to === undefined ? nowMs : Date.parse(to))

type Span = readonly [from: number, to: number]

/** Joins spans that overlap. */
function merged(spans: readonly Span[]): Span[] {
  const joined: [number, number][] = []
  for (const [from, to] of spans.toSorted((a, b) => a[0] - b[0])) {
    const last = joined.at(-1)
    if (last && from <= last[1]) last[1] = Math.max(last[1], to)
    else joined.push([from, to])
  }
  return joined
}

function segmentsOf(works: readonly Span[], start: number, end: number): Segment[] {
  const worked = works.reduce((sum, [from, to]) => sum + to - from, 0)
  const maxPause = Math.max(minPauseMs, worked * maxPausePart)
  const segments: Segment[] = []
  let [at, place] = [start, 0]
  const add = (to: number, maxWidth: number) => {
    if (to <= at) return
    const width = Math.min(to - at, maxWidth)
    segments.push({ from: at, to, width, start: place })
    place += width
    at = to
  }
  for (const [from, to] of works) {
    add(from, maxPause)
    add(to, Number.POSITIVE_INFINITY)
  }
  add(end, maxPause)
  return segments
}

function placeIn(segments: readonly Segment[], ms: number): number {
  let [low, high] = [0, segments.length - 1]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((segments[middle]?.to ?? 0) < ms) low = middle + 1
    else high = middle
  }
  const segment = segments[low]
  if (!segment) return 0
  return segment.start + (segment.width * (ms - segment.from)) / (segment.to - segment.from)
}
