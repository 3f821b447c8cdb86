/** A Markdown table whose columns line up, so that it reads well as plain text too. */
export function markdownTable(columns: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = columns.map((column, at) => Math.max(column.length, 3, ...rows.map(row => row[at]?.length ?? 0)))
  const line = (cells: readonly string[]) =>
    `| ${widths.map((width, at) => (cells[at] ?? '').padEnd(width)).join(' | ')} |`
  return [line(columns), line(widths.map(width => '-'.repeat(width))), ...rows.map(line)].join('\n')
}
