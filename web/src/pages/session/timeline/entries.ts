import { duration } from '../../../parts/format.ts'
import { pieces } from '../../../parts/safe-text.tsx'
import type { Bar, Mark, Timeline } from '../../../session-log/timeline.ts'

/** A bar or a mark as an entry of a list. */
export interface Entry {
  readonly eventId: string
  readonly label: string
  readonly at: string
}

const barText = ({ label, from, to, isFailed }: Bar): string => {
  const length = to === undefined ? 'running' : duration(Date.parse(to) - Date.parse(from))
  return [label, length, isFailed && 'failed'].filter(Boolean).join(', ')
}

/** Names of tools and agents are text of others: their hidden characters become codes. */
const withCodes = (text: string): string =>
  pieces(text)
    .map(({ text: piece, code }) => code ?? piece)
    .join('')

/** Text of a bar or a mark, for hover and for screen readers. */
export const textOfShown = (shown: Bar | Mark): string => withCodes('from' in shown ? barText(shown) : shown.label)

/** Returns all bars and marks by time. */
export const entriesOf = ({ lanes }: Timeline): Entry[] =>
  lanes
    .flatMap(({ bars, marks }) => [
      ...bars.map(bar => ({ eventId: bar.eventId, label: textOfShown(bar), at: bar.from })),
      ...marks.map(mark => ({ eventId: mark.eventId, label: textOfShown(mark), at: mark.at })),
    ])
    .filter(({ eventId }) => eventId !== '')
    .sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0))
