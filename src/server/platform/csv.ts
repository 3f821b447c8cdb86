/** What a cell may hold; null is an empty cell. */
export type Cell = string | number | boolean | null

/** What spreadsheets take for the beginning of a formula, also behind blanks. Source: OWASP, CSV injection. */
const formulaStart = /^\s*[=+\-@＝＋－＠]|^[\t\r\n]/
/** A number says nothing but itself. */
const plainNumber = /^-?\d+(\.\d+)?$/
/** Some spreadsheets part cells at semicolons and tabs too. */
const needsQuotes = /[",;\t\r\n]|^\s|\s$/

/**
 * One line with its end (RFC 4180). Text that a spreadsheet would run gets an apostrophe in front, which spreadsheets do
 * not show. Empty text is `""`, so that it differs from null. Security: S47.
 */
export const csvLine = (cells: readonly Cell[]): string => `${cells.map(spelled).join(',')}\r\n`

function spelled(cell: Cell): string {
  if (cell === null) return ''
  if (typeof cell !== 'string') return String(cell)
  const safe = formulaStart.test(cell) && !plainNumber.test(cell) ? `'${cell}` : cell
  return safe === '' || needsQuotes.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
