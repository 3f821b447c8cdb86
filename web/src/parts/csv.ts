/** Quotes a cell. A text that a spreadsheet would take for a formula gets an apostrophe, so that it stays text. */
function cell(value: string | number | null | undefined): string {
  const text = value === null || value === undefined ? '' : String(value)
  const safe = typeof value === 'string' && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

/** Returns rows as CSV with a head. */
export const toCsv = (
  head: readonly string[],
  rows: readonly (readonly (string | number | null | undefined)[])[],
): string => [head, ...rows].map(row => row.map(cell).join(',')).join('\r\n')
