import { dim, type Out } from './out.ts'
import { cutToWidth, padToWidth, textWidth } from './text-width.ts'

/** Minimum width of the last column; narrower ones are not worth a column. */
const minLastWidth = 10
const gap = 2
/** Ids are never cut. */
const wholeId = /^[a-z]+_[0-9a-f]{16,}$/

interface TableOptions {
  /** Columns that go first when the table is too wide, by heading; default: from the right, the last column stays. */
  readonly dropFirst?: readonly string[]
}

/**
 * Prints rows under headings. On a terminal that is too narrow columns are left out, and the last one is cut; the first
 * column, which identifies the row, is always whole.
 */
export function printTable(
  out: Out,
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  { dropFirst = [] }: TableOptions = {},
): void {
  const [head = '', ...lines] = tableLines(headings, rows, { width: out.columns, dropFirst })
  out.line(dim(head))
  for (const line of lines) out.line(line)
}

interface Fit extends TableOptions {
  /** Columns of the terminal; undefined: unlimited. */
  readonly width?: number | undefined
}

/** Formats rows under headings, each column as wide as its widest cell. The last column is not padded. */
export function tableLines(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  { width = Number.POSITIVE_INFINITY, dropFirst = [] }: Fit = {},
): string[] {
  const all = [headings, ...rows]
  const widths = headings.map((_, column) => Math.max(...all.map(row => textWidth(row[column] ?? ''))))
  const ids = rows.map(row => row.at(-1) ?? '').filter(cell => wholeId.test(cell))
  const lastMin = Math.max(minLastWidth, ...ids.map(textWidth))
  const shown = fitting(widths, { width, lastMin, order: dropOrder(headings, dropFirst) })
  const last = shown.at(-1) ?? 0
  const before = shown.slice(0, -1).reduce((sum, column) => sum + (widths[column] ?? 0) + gap, 0)
  const lastWidth = shown.length > 1 ? width - before : Number.POSITIVE_INFINITY
  return all.map(row =>
    shown
      .map(column => {
        const cell = row[column] ?? ''
        return column === last ? cutToWidth(cell, lastWidth) : padToWidth(cell, widths[column] ?? 0)
      })
      .join(' '.repeat(gap))
      .trimEnd(),
  )
}

/** Returns the columns that may be left out, in that order. */
function dropOrder(headings: readonly string[], dropFirst: readonly string[]): number[] {
  const named = dropFirst.map(heading => headings.indexOf(heading)).filter(column => column > 0)
  const middle = headings.map((_, column) => column).slice(1, -1)
  const rest = middle.reverse().filter(column => !named.includes(column))
  return [...named, ...rest, ...(named.includes(headings.length - 1) ? [] : [headings.length - 1])]
}

/** Returns the columns that fit into `width` with their gaps. */
function fitting(
  widths: readonly number[],
  { width, lastMin, order }: { readonly width: number; readonly lastMin: number; readonly order: readonly number[] },
): number[] {
  let shown = widths.map((_, column) => column)
  for (const column of order) {
    const last = shown.at(-1) ?? 0
    const needed = shown.reduce((sum, at) => {
      const full = widths[at] ?? 0
      return sum + (at === last && at !== 0 ? Math.min(full, lastMin) : full) + gap
    }, -gap)
    if (needed <= width || shown.length === 1) break
    shown = shown.filter(at => at !== column)
  }
  return shown
}
