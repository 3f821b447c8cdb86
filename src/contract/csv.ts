/** Value of a cell; null is an empty cell. */
export type Cell = string | number | boolean | null

/** Start of text that spreadsheets run as a formula, even after white space. Source: OWASP, CSV injection. */
const formulaStart = /^\s*[=+\-@＝＋－＠]|^[\t\r\n]/
/** Numbers are safe although they may start with a minus. */
const plainNumber = /^-?\d+(\.\d+)?$/
/** Some spreadsheets also split cells at semicolons and tabs. */
const needsQuotes = /[",;\t\r\n]|^\s|\s$/

/**
 * Returns one line with its line ending (RFC 4180). Text that a spreadsheet would run is prefixed with an apostrophe,
 * which spreadsheets hide. Empty text is `""`, to distinguish it from null. Security: S47.
 */
export const csvLine = (cells: readonly Cell[]): string => `${cells.map(spelled).join(',')}\r\n`

function spelled(cell: Cell): string {
  if (cell === null) return ''
  if (typeof cell !== 'string') return String(cell)
  const safe = formulaStart.test(cell) && !plainNumber.test(cell) ? `'${cell}` : cell
  return safe === '' || needsQuotes.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
