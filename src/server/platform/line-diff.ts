/** A line of one or both texts. */
export interface DiffLine {
  readonly op: 'same' | 'removed' | 'added'
  readonly text: string
}

/** Bounds the work: above this number of line pairs the changed middle is shown as replaced as a whole. */
const maxPairs = 1_000_000

/** Returns the line diff from `before` to `after`, with `context` unchanged lines around each change. */
export const lineDiff = (before: string, after: string, context = 3): DiffLine[] =>
  nearChanges(everyLine(before.split('\n'), after.split('\n')), context)

/** Returns the line diff with all lines. */
export function everyLine(old: readonly string[], now: readonly string[]): DiffLine[] {
  const maxShared = Math.min(old.length, now.length)
  let head = 0
  while (head < maxShared && old[head] === now[head]) head++
  let tail = 0
  while (tail < maxShared - head && old[old.length - 1 - tail] === now[now.length - 1 - tail]) tail++
  const changed = middle(old.slice(head, old.length - tail), now.slice(head, now.length - tail))
  return [...as('same', old.slice(0, head)), ...changed, ...as('same', old.slice(old.length - tail))]
}

const as = (op: DiffLine['op'], texts: readonly string[]): DiffLine[] => texts.map(text => ({ op, text }))

/** Diffs by the longest common subsequence. */
function middle(old: readonly string[], now: readonly string[]): DiffLine[] {
  if (old.length * now.length > maxPairs) return [...as('removed', old), ...as('added', now)]
  const width = now.length + 1
  const lengths = new Uint32Array((old.length + 1) * width)
  const lengthAt = (i: number, j: number) => lengths[i * width + j] ?? 0
  for (let i = old.length - 1; i >= 0; i--) {
    for (let j = now.length - 1; j >= 0; j--) {
      const isSame = old[i] === now[j]
      lengths[i * width + j] = isSame ? lengthAt(i + 1, j + 1) + 1 : Math.max(lengthAt(i + 1, j), lengthAt(i, j + 1))
    }
  }
  return walked(old, now, lengthAt)
}

/** Walks the table from the start: takes common lines first, else the side with the longer remaining subsequence. */
function walked(
  old: readonly string[],
  now: readonly string[],
  lengthAt: (i: number, j: number) => number,
): DiffLine[] {
  const lines: DiffLine[] = []
  for (let i = 0, j = 0; i < old.length || j < now.length; ) {
    if (i < old.length && j < now.length && old[i] === now[j]) {
      lines.push({ op: 'same', text: old[i] ?? '' })
      i++
      j++
    } else if (i < old.length && (j === now.length || lengthAt(i + 1, j) >= lengthAt(i, j + 1))) {
      lines.push({ op: 'removed', text: old[i++] ?? '' })
    } else lines.push({ op: 'added', text: now[j++] ?? '' })
  }
  return lines
}

/** Removes unchanged lines that are not near a change. */
function nearChanges(lines: readonly DiffLine[], context: number): DiffLine[] {
  const isNear = new Uint8Array(lines.length)
  for (const [at, { op }] of lines.entries())
    if (op !== 'same') isNear.fill(1, Math.max(0, at - context), at + context + 1)
  return lines.filter((_, at) => isNear[at] === 1)
}
