/** Text as it is compared without regard to case; the same on every database. Sigma has two small forms. */
export const fold = (text: string): string => text.toLowerCase().replaceAll('ς', 'σ')

/** From this length on the start of a word is enough, and its last letter does not count: `indents` finds `indentation`. */
const shortestStem = 4

/**
 * A text search of PostgreSQL for any of the words in `q`; undefined when there are fewer than two. It holds letters and
 * digits alone, so nothing in `q` can become an operator. Security: S52.
 */
export function wordsQuery(q: string): string | undefined {
  const words = [...new Set(fold(q).match(/[\p{L}\p{M}\p{N}]+/gu) ?? [])]
  if (words.length < 2) return undefined
  return words.map(wordQuery).join(' | ')
}

function wordQuery(word: string): string {
  const letters = [...word]
  if (letters.length < shortestStem) return `'${word}'`
  return `'${letters.slice(0, Math.max(shortestStem, letters.length - 1)).join('')}':*`
}
