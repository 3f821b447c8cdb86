import type { ExitCode } from '../exit-codes.ts'
import { agoText } from '../format.ts'
import { dim, type Out } from '../out.ts'
import { plainLine, plainText } from '../plain-text.ts'
import { printTable } from '../table.ts'
import { padToWidth, wrapToWidth } from '../text-width.ts'
import type { Context } from './route-command.ts'

/** Column of a list. */
export type Column<Row> = readonly [heading: string, cell: (row: Row, nowMs: number) => string]

interface ListOptions {
  /** Printed instead of an empty table. */
  readonly empty: string
  readonly dropFirst?: readonly string[]
}

/** Returns a function that prints the rows of an answer as a table. */
export const rows =
  <Answer, Row>(rowsOf: (answer: Answer) => readonly Row[], columns: readonly Column<Row>[], options: ListOptions) =>
  (answer: Answer, { out, nowMs }: Pick<Context, 'out' | 'nowMs'>): undefined => {
    const found = rowsOf(answer)
    if (found.length === 0) {
      out.line(options.empty)
      return
    }
    const cells = found.map(row => columns.map(([, cell]) => plainLine(cell(row, nowMs), 100)))
    printTable(
      out,
      columns.map(([heading]) => heading),
      cells,
      options.dropFirst ? { dropFirst: options.dropFirst } : {},
    )
  }

/** Returns a function that prints that something was done. */
export const done =
  <Answer>(text: (answer: Answer, args: readonly string[]) => string) =>
  (answer: Answer, { out, args }: Pick<Context, 'out' | 'args'>): ExitCode | undefined => {
    out.line({ text: '✓ ', tone: 'good' }, plainLine(text(answer, args), 300))
    return undefined
  }

/** Prints a text for scripts, such as the id of a new object, as the only line of standard output. */
export const id =
  <Answer>(idOf: (answer: Answer) => string) =>
  (answer: Answer, { out }: Pick<Context, 'out'>): undefined =>
    out.line(idOf(answer)) as undefined

/** Returns a function that prints the fields of an object, one a line. Empty ones are left out. */
export const details =
  <Answer extends object>(omit: readonly string[] = []) =>
  (answer: Answer, { out }: Pick<Context, 'out'>): undefined =>
    printFields(out, Object.fromEntries(Object.entries(answer).filter(([name]) => !omit.includes(name))))

/** Prints names and values. Long texts are indented below their name. */
export function printFields(out: Out, fields: Readonly<Record<string, unknown>>): undefined {
  const shown = Object.entries(fields).filter(([, value]) => !isEmpty(value))
  const nameWidth = Math.max(0, ...shown.map(([name]) => name.length))
  for (const [name, value] of shown) {
    const text = textOf(value)
    const width = (out.columns ?? Number.POSITIVE_INFINITY) - nameWidth - 2
    const [first = '', ...more] = plainText(text)
      .split('\n')
      .flatMap(line => wrapToWidth(line, Math.max(20, width)))
    out.line(dim(padToWidth(name, nameWidth)), '  ', first)
    for (const line of more) out.line(' '.repeat(nameWidth + 2), line)
  }
}

const isEmpty = (value: unknown): boolean =>
  value === null ||
  value === undefined ||
  value === '' ||
  (typeof value === 'object' && Object.keys(value).length === 0)

const textOf = (value: unknown): string => {
  if (typeof value === 'string') return value
  if (Array.isArray(value) && value.every(item => typeof item === 'string')) return value.join(', ')
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** Formats a time of the past relative to now; `-` when absent. */
export const ago = (time: string | null | undefined, nowMs: number): string =>
  time ? agoText(nowMs - Date.parse(time)) : '-'

/** Formats a time to the minute, in UTC: `2026-01-31 12:00 UTC`; `-` when absent. */
export const minuteText = (time: string | null | undefined): string =>
  time ? `${time.slice(0, 16).replace('T', ' ')} UTC` : '-'
