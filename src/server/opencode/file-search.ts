import type { TextMatch } from '../../contract/opencode-files.ts'

const newline = 0x0a
const maxMatchesPerLine = 100
/** Maximum number of bytes returned of a line. */
const maxLineBytes = 2_000

/** Returns up to `most` lines of a file that contain `text`; none for a binary file. */
export function matchesIn(path: string, content: Buffer, text: string, limit: number): TextMatch[] {
  const needle = Buffer.from(text)
  const matches: TextMatch[] = []
  if (needle.length === 0 || content.includes(0)) return matches
  let line = { start: 0, number: 1 }
  for (let at = content.indexOf(needle); at >= 0 && matches.length < limit; ) {
    line = lineAt(content, at, line)
    const next = content.indexOf(newline, at)
    const end = next < 0 ? content.length : next
    matches.push(matchOf(path, { content, needle, line, end }))
    at = content.indexOf(needle, Math.max(end, at + 1))
  }
  return matches
}

interface Line {
  readonly start: number
  readonly number: number
}

/** Returns the line of an offset, counted from an earlier line. */
function lineAt(content: Buffer, place: number, from: Line): Line {
  let { start, number } = from
  for (let end = content.indexOf(newline, start); end >= 0 && end < place; end = content.indexOf(newline, start)) {
    start = end + 1
    number++
  }
  return { start, number }
}

interface Found {
  readonly content: Buffer
  readonly needle: Buffer
  readonly line: Line
  readonly end: number
}

function matchOf(path: string, { content, needle, line, end }: Found): TextMatch {
  const whole = content.subarray(line.start, end)
  const submatches: TextMatch['submatches'] = []
  for (
    let at = whole.indexOf(needle);
    at >= 0 && submatches.length < maxMatchesPerLine;
    at = whole.indexOf(needle, at + needle.length)
  ) {
    submatches.push({ match: { text: needle.toString() }, start: at, end: at + needle.length })
  }
  return {
    path: { text: path },
    lines: { text: whole.subarray(0, maxLineBytes).toString() },
    line_number: line.number,
    absolute_offset: line.start,
    submatches,
  }
}

/** True when a path contains all words of a query, in any case and order. */
export const containsWords = (path: string, query: string): boolean => {
  const name = path.toLowerCase()
  return query
    .toLowerCase()
    .split(/\s+/)
    .every(word => name.includes(word))
}

/** Returns the number of lines that a patch adds and removes. */
export function linesOfPatch(patch: string | null): { readonly added: number; readonly removed: number } {
  const lines = (patch ?? '').split('\n').filter(line => !line.startsWith('+++') && !line.startsWith('---'))
  const count = (sign: string) => lines.filter(line => line.startsWith(sign)).length
  return { added: count('+'), removed: count('-') }
}
