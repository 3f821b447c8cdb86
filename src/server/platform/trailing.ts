/** Returns the text without the repeated `character` at its end, in linear time. An expression such as `/\/+$/` takes quadratic time. */
export function withoutTrailing(text: string, character: string): string {
  let end = text.length
  while (end > 0 && text[end - 1] === character) end--
  return text.slice(0, end)
}
