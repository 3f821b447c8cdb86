import type { TextMatch } from '../../contract/opencode.ts'

const newline = 0x0a
const mostInLine = 100
/** Bytes of a line that are shown. */
const mostOfLine = 2_000

/** Lines of a file that hold `text`, at most `most`; none for a file that is no text. */
export function matchesIn(path: string, content: Buffer, text: string, most: number): TextMatch[] {
  const sought = Buffer.from(text)
  const matches: TextMatch[] = []
  if (sought.length === 0 || content.includes(0)) return matches
  let line = { start: 0, number: 1 }
  for (let at = content.indexOf(sought); at >= 0 && matches.length < most; ) {
    line = lineAt(content, at, line)
    const next = content.indexOf(newline, at)
    const end = next < 0 ? content.length : next
    matches.push(matchOf(path, { content, sought, line, end }))
    at = content.indexOf(sought, Math.max(end, at + 1))
  }
  return matches
}

interface Line {
  readonly start: number
  readonly number: number
}

/** The line of a place, counted from an earlier one. */
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
  readonly sought: Buffer
  readonly line: Line
  readonly end: number
}

function matchOf(path: string, { content, sought, line, end }: Found): TextMatch {
  const whole = content.subarray(line.start, end)
  const submatches: TextMatch['submatches'] = []
  for (
    let at = whole.indexOf(sought);
    at >= 0 && submatches.length < mostInLine;
    at = whole.indexOf(sought, at + sought.length)
  ) {
    submatches.push({ match: { text: sought.toString() }, start: at, end: at + sought.length })
  }
  return {
    path: { text: path },
    lines: { text: whole.subarray(0, mostOfLine).toString() },
    line_number: line.number,
    absolute_offset: line.start,
    submatches,
  }
}

/** True when a path holds all words of a query, in any case and order. */
export const holdsWords = (path: string, query: string): boolean => {
  const name = path.toLowerCase()
  return query
    .toLowerCase()
    .split(/\s+/)
    .every(word => name.includes(word))
}

/** Lines that a patch adds, and that it takes away. */
export function linesOfPatch(patch: string | null): { readonly added: number; readonly removed: number } {
  const lines = (patch ?? '').split('\n').filter(line => !line.startsWith('+++') && !line.startsWith('---'))
  const count = (sign: string) => lines.filter(line => line.startsWith(sign)).length
  return { added: count('+'), removed: count('-') }
}
