import type { DiffLine } from './diff-lines.ts'

type Lines = readonly string[]

/** Number of added and removed lines up to which lines are aligned; beyond it all lines are replaced. */
const maxEdits = 4_000

/**
 * Returns the difference of two texts: lines that stay, that go and that come, in reading order. A missing line break at
 * the end is no difference.
 */
export const diffLines = (before: string, after: string): DiffLine[] => diffLists(linesOf(before), linesOf(after))

const linesOf = (text: string): string[] => (text === '' ? [] : text.replace(/\n$/, '').split('\n'))

/** Returns the difference of two lists of texts, with as few changes as their order allows. */
export function diffLists(old: Lines, next: Lines): DiffLine[] {
  const start = equalCount(old, next, (list, at) => list[at])
  const rest = [old.slice(start), next.slice(start)] as const
  const end = equalCount(...rest, (list, at) => list[list.length - 1 - at])
  const changed = [rest[0].slice(0, rest[0].length - end), rest[1].slice(0, rest[1].length - end)] as const
  return [
    ...old.slice(0, start).map(text => lineOf('same', text)),
    ...changedLines(...changed),
    ...old.slice(old.length - end).map(text => lineOf('same', text)),
  ]
}

const lineOf = (op: DiffLine['op'], text: string): DiffLine => ({ op, text })

/** Number of equal lines, one by one, that `read` returns of both lists. */
function equalCount(a: Lines, b: Lines, read: (list: Lines, at: number) => string | undefined): number {
  const shorter = Math.min(a.length, b.length)
  let count = 0
  while (count < shorter && read(a, count) === read(b, count)) count += 1
  return count
}

function changedLines(old: Lines, next: Lines): DiffLine[] {
  const isOneEmpty = old.length === 0 || next.length === 0
  const reaches = isOneEmpty ? undefined : reachesOf(old, next)
  if (reaches) return pathThrough(reaches, old, next)
  return [...old.map(text => lineOf('removed', text)), ...next.map(text => lineOf('added', text))]
}

/**
 * How far into the old list each path with one number of edits gets. The place of a path is the number of lines that it
 * removes: with `edits` edits, a path at place `p` that reached `x` has read `x - (2 * p - edits)` lines of the new list.
 */
type Reach = Int32Array

const noEdits: Reach = new Int32Array(1)

/** The last edit of a path adds a line, or removes one if the path gets further that way. */
const isAddition = (before: Reach, place: number): boolean =>
  place === 0 || (place < before.length && (before[place - 1] ?? 0) < (before[place] ?? 0))

/** How far a path is directly after its last edit. */
const afterEdit = (before: Reach, place: number): number =>
  isAddition(before, place) ? (before[place] ?? 0) : (before[place - 1] ?? 0) + 1

/**
 * Returns the reaches with 0, 1, 2 … edits up to the first that covers both lists; undefined beyond `maxEdits`. Takes time
 * by the number of edits. Source: Myers, An O(ND) Difference Algorithm and Its Variations, 1986.
 */
function reachesOf(old: Lines, next: Lines): Reach[] | undefined {
  const reaches: Reach[] = []
  for (let edits = 0; edits <= maxEdits; edits++) {
    const before = reaches[edits - 1] ?? noEdits
    const reach = new Int32Array(edits + 1)
    reaches.push(reach)
    for (let place = 0; place <= edits; place++) {
      let x = afterEdit(before, place)
      let y = x - (2 * place - edits)
      while (x < old.length && y < next.length && old[x] === next[y]) [x, y] = [x + 1, y + 1]
      reach[place] = x
      if (x >= old.length && y >= next.length) return reaches
    }
  }
  return undefined
}

/** Returns the lines along the path to the end of both lists, found from its end. */
function pathThrough(reaches: readonly Reach[], old: Lines, next: Lines): DiffLine[] {
  const lines: DiffLine[] = []
  let [x, y] = [old.length, next.length]
  const unchangedTo = (from: number) => {
    for (; x > from; [x, y] = [x - 1, y - 1]) lines.push(lineOf('same', old[x - 1] ?? ''))
  }
  for (let edits = reaches.length - 1; edits > 0; edits--) {
    const before = reaches[edits - 1] ?? noEdits
    const place = (x - y + edits) / 2
    unchangedTo(afterEdit(before, place))
    if (isAddition(before, place)) {
      y -= 1
      lines.push(lineOf('added', next[y] ?? ''))
    } else {
      x -= 1
      lines.push(lineOf('removed', old[x] ?? ''))
    }
  }
  unchangedTo(0)
  return lines.toReversed()
}
