/** Returns text for case-insensitive comparison, the same on every database. Sigma has two lower case forms. */
export const fold = (text: string): string => text.toLowerCase().replaceAll('ς', 'σ')

/** Words of this length or more match by prefix without their last letter: `indents` finds `indentation`. */
const minStemLength = 4

/**
 * Returns a tsquery for any of the words in `q`; undefined when `q` has fewer than two. It contains only letters and
 * digits of `q`, so no text in `q` can become an operator. Security: S52.
 */
export function wordsQuery(q: string): string | undefined {
  const words = [...new Set(fold(q).match(/[\p{L}\p{M}\p{N}]+/gu) ?? [])]
  if (words.length < 2) return undefined
  return words.map(wordQuery).join(' | ')
}

function wordQuery(word: string): string {
  const letters = [...word]
  if (letters.length < minStemLength) return `'${word}'`
  return `'${letters.slice(0, Math.max(minStemLength, letters.length - 1)).join('')}':*`
}
