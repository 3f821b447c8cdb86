/** Returns the candidate closest to `word`; undefined if none is similar. */
export function closestTo(word: string, candidates: readonly string[]): string | undefined {
  const near = candidates
    .map(candidate => ({ candidate, distance: distanceOf(word.toLowerCase(), candidate.toLowerCase()) }))
    .filter(({ candidate, distance }) => distance <= Math.max(1, Math.floor(candidate.length / 3)))
  return near.sort((a, b) => a.distance - b.distance)[0]?.candidate
}

/** Returns the edit distance: insertions, deletions, replacements and swaps of neighbours. */
function distanceOf(from: string, to: string): number {
  let before: readonly number[] = []
  let row: readonly number[] = Array.from({ length: to.length + 1 }, (_, at) => at)
  for (let i = 1; i <= from.length; i++) {
    const next = [i]
    for (let j = 1; j <= to.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1)
      const isSwap = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1]
      const swapped = isSwap ? (before[j - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY
      next[j] = Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, replaced, swapped)
    }
    before = row
    row = next
  }
  return row[to.length] ?? 0
}
