/** Characters that terminals show in two columns: East Asian wide and full width, and emoji. */
const wide =
  /[\u1100-\u115f\u231a\u231b\u2329\u232a\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{18cff}\u{1b000}-\u{1b2ff}\u{1f200}-\u{1f2ff}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}|\ufe0f/u

/** Characters without a column of their own: combining marks and format characters. */
const zeroWidth = /^[\p{Mn}\p{Me}\p{Cf}\p{Cc}]+$/u

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' })

/** Returns the number of terminal columns of one grapheme. */
function graphemeWidth(grapheme: string): number {
  if (zeroWidth.test(grapheme)) return 0
  return wide.test(grapheme) ? 2 : 1
}

/** Returns the number of terminal columns of `text`, which must be plain text on one line. */
export function textWidth(text: string): number {
  // The common case: ASCII has one column a character.
  if (/^[\x20-\x7e]*$/.test(text)) return text.length
  let width = 0
  for (const { segment } of graphemes.segment(text)) width += graphemeWidth(segment)
  return width
}

/** Returns `text` cut to at most `width` columns; a cut is marked with `…`. */
export function cutToWidth(text: string, width: number): string {
  if (textWidth(text) <= width) return text
  let kept = ''
  let used = 0
  for (const { segment } of graphemes.segment(text)) {
    used += graphemeWidth(segment)
    if (used > width - 1) break
    kept += segment
  }
  return `${kept.trimEnd()}…`
}

/** Returns `text` with spaces up to `width` columns. */
export const padToWidth = (text: string, width: number): string =>
  text + ' '.repeat(Math.max(0, width - textWidth(text)))

/** Returns `text` in lines of at most `width` columns, broken at spaces; words that are wider stay whole. */
export function wrapToWidth(text: string, width: number): string[] {
  const [indent = ''] = /^ */.exec(text) ?? []
  const lines: string[] = []
  let line = ''
  for (const word of `${indent}${text.trimStart()}`.split(/(?<=\S) /)) {
    const longer = line === '' ? word : `${line} ${word}`
    if (line !== '' && textWidth(longer) > width) {
      lines.push(line)
      line = word
    } else {
      line = longer
    }
  }
  return [...lines, line]
}
