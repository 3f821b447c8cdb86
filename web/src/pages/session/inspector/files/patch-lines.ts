import type { NumberedLine } from '../../../../parts/diff-lines.ts'

/** Changed lines with their context. */
export interface Hunk {
  /** Position in the patch. */
  readonly at: number
  readonly lines: readonly NumberedLine[]
}

const ops: Readonly<Record<string, NumberedLine['op']>> = { ' ': 'same', '+': 'added', '-': 'removed' }

/** Returns the hunks of a unified diff of one file. Lines before the first hunk name the file and are left out. */
export function hunksOf(patch: string): Hunk[] {
  const hunks: { at: number; lines: NumberedLine[] }[] = []
  let [before, after] = [0, 0]
  for (const [at, line] of patch.split('\n').entries()) {
    const start = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/.exec(line)
    if (start) {
      ;[before, after] = [Number(start[1]), Number(start[2])]
      hunks.push({ at, lines: [] })
      continue
    }
    const op = ops[line.charAt(0)]
    const hunk = hunks.at(-1)
    if (op === undefined || !hunk) continue
    hunk.lines.push({
      at,
      op,
      text: line.slice(1),
      before: op === 'added' ? undefined : before,
      after: op === 'removed' ? undefined : after,
    })
    if (op !== 'added') before += 1
    if (op !== 'removed') after += 1
  }
  return hunks
}
