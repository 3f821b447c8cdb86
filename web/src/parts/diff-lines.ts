/** A line of a difference between two texts. */
export interface DiffLine {
  readonly op: 'same' | 'removed' | 'added'
  readonly text: string
}

/** A line with its numbers in both texts. */
export interface NumberedLine extends DiffLine {
  /** Position in the difference. */
  readonly at: number
  /** Number in the old text; undefined for an added line. */
  readonly before: number | undefined
  /** Number in the new text; undefined for a removed line. */
  readonly after: number | undefined
}

/** A changed part with its context, or unchanged lines between two of them that are folded. */
export interface DiffPart {
  readonly isFolded: boolean
  readonly lines: readonly NumberedLine[]
}

const contextLines = 3

/** Numbers the lines of both texts. */
export function numbered(lines: readonly DiffLine[]): NumberedLine[] {
  let [before, after] = [0, 0]
  return lines.map((line, at) => {
    if (line.op !== 'added') before++
    if (line.op !== 'removed') after++
    return {
      ...line,
      at,
      before: line.op === 'added' ? undefined : before,
      after: line.op === 'removed' ? undefined : after,
    }
  })
}

/** Splits a difference into shown and folded parts: unchanged lines further than three lines from a change are folded. */
export function partsOf(lines: readonly DiffLine[]): DiffPart[] {
  const all = numbered(lines)
  const isShown = nearChanges(lines)
  const parts: { isFolded: boolean; lines: NumberedLine[] }[] = []
  for (const [at, line] of all.entries()) {
    const isFolded = !isShown[at]
    const last = parts.at(-1)
    if (last?.isFolded === isFolded) last.lines.push(line)
    else parts.push({ isFolded, lines: [line] })
  }
  // One folded line takes as much room as the line itself.
  return parts.map(part => (part.lines.length === 1 ? { ...part, isFolded: false } : part))
}

function nearChanges(lines: readonly DiffLine[]): boolean[] {
  const isShown = lines.map(() => false)
  for (const [at, { op }] of lines.entries()) {
    if (op === 'same') continue
    for (let near = at - contextLines; near <= at + contextLines; near++) if (near in isShown) isShown[near] = true
  }
  return isShown
}

/** Returns the number of added and removed lines. */
export const sizeOf = (lines: readonly DiffLine[]): { readonly added: number; readonly removed: number } => ({
  added: lines.filter(({ op }) => op === 'added').length,
  removed: lines.filter(({ op }) => op === 'removed').length,
})
