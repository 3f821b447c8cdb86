/** The candidate that `word` most likely meant, or undefined when none is near. */
export function closestTo(word: string, candidates: readonly string[]): string | undefined {
  const near = candidates
    .map(candidate => ({ candidate, distance: distanceOf(word.toLowerCase(), candidate.toLowerCase()) }))
    .filter(({ candidate, distance }) => distance <= Math.max(1, Math.floor(candidate.length / 3)))
  return near.sort((a, b) => a.distance - b.distance)[0]?.candidate
}

/** Levenshtein distance: insertions, deletions and replacements that turn `from` into `to`. */
function distanceOf(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, at) => at)
  for (let i = 1; i <= from.length; i++) {
    const next = [i]
    for (let j = 1; j <= to.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1)
      next[j] = Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, replaced)
    }
    row = next
  }
  return row[to.length] ?? 0
}
