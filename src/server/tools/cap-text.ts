/** Returns the text, or its first and last part with a line between them that states how much was cut. */
export function capText(text: string, limitChars: number): string {
  if (text.length <= limitChars) return text
  const half = Math.floor(limitChars / 2)
  const head = text.slice(0, isPairSplitAt(text, half) ? half - 1 : half)
  const from = text.length - half
  const tail = text.slice(isPairSplitAt(text, from) ? from + 1 : from)
  return `${head}\n[... ${text.length - head.length - tail.length} characters cut out ...]\n${tail}`
}

/** True when a cut before `index` would split a surrogate pair. */
function isPairSplitAt(text: string, index: number): boolean {
  const before = text.charCodeAt(index - 1)
  return before >= 0xd800 && before <= 0xdbff
}
