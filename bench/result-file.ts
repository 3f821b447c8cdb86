import { mkdir, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { BenchCase, Figure } from './bench-case.ts'
import { type Chart, plotOf } from './plot.ts'
import { rounded } from './statistics.ts'

/** A case with what it measured. */
export interface Measurement {
  readonly case: BenchCase
  readonly figures: readonly Figure[]
}

const columns = ['case', 'figure', 'value', 'target', '', 'detail'] as const

/** True when the figure is above its target, or is no number at all. */
export const isOver = ({ value, target }: Figure): boolean => target !== undefined && !(value <= target)

/** The figures as aligned text. */
export function textTable(measurements: readonly Measurement[]): string {
  const rows = [columns, ...measurements.flatMap(rowsOf)]
  const widths = columns.map((_, at) => Math.max(...rows.map(row => row[at]?.length ?? 0)))
  return rows
    .map(row =>
      row
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

interface Origin {
  readonly folder: string
  /** The machine in a line. */
  readonly machine: string
  /** Names the file of several cases. */
  readonly subject: string
}

/** Stores the figures with the machine that they come from; one case gets a file with its name. Returns the file's path. */
export async function writeResult(
  measurements: readonly Measurement[],
  { folder, machine, subject }: Origin,
): Promise<string> {
  const day = new Date().toISOString().slice(0, 10)
  const rows = measurements.flatMap(rowsOf).map(row => `| ${row.join(' | ')} |`)
  const text = [
    `# Bench ${day}`,
    `${machine}. Ratios compare two programs in one run; other figures are of this machine alone.`,
    [`| ${columns.join(' | ')} |`, `|${columns.map(() => '---').join('|')}|`, ...rows].join('\n'),
    measurements.map(({ case: { name, title } }) => `- \`${name}\`: ${title}`).join('\n'),
  ]
  await mkdir(folder, { recursive: true })
  const [only] = measurements.length === 1 ? measurements : []
  const file = join(folder, `${day}-${only?.case.name ?? subject}.md`)
  const charts = chartsOf(measurements)
  if (charts.length > 0) {
    const subtitle = `${day}, ${machine}`
    const plot = plotOf({ title: `${subject.charAt(0).toUpperCase()}${subject.slice(1)}`, subtitle, charts })
    await writeFile(file.replace(/md$/, 'svg'), plot)
    text.push(`![Plots](${basename(file).replace(/md$/, 'svg')})`)
  }
  await writeFile(file, `${text.join('\n\n')}\n`)
  return file
}

/** The figures that are bars, by their charts. */
function chartsOf(measurements: readonly Measurement[]): Chart[] {
  const figures = measurements.flatMap(({ figures: all }) => all)
  const named = Map.groupBy(figures, ({ bar }) => bar?.chart)
  return [...named].flatMap(([title, ofChart]) => {
    if (title === undefined) return []
    return [{ title, bars: ofChart.map(({ bar, value }) => ({ label: bar?.label ?? '', value, isOurs: true })) }]
  })
}

const rowsOf = ({ case: { name }, figures }: Measurement): string[][] => figures.map(figure => rowOf(name, figure))

function rowOf(name: string, figure: Figure): string[] {
  const { value, unit, target, detail = '' } = figure
  const verdict = target === undefined ? '' : isOver(figure) ? 'over' : 'ok'
  return [
    name,
    figure.name,
    `${rounded(value)} ${unit}`.trim(),
    target === undefined ? '' : `<= ${target}`,
    verdict,
    detail,
  ]
}
