import type { RuntimeHarness } from '../../contract/runtimes.ts'
import { elapsedText } from '../format.ts'
import { dim, type Piece, plain, type Tone } from '../out.ts'
import { plainLine } from '../plain-text.ts'
import { tableLines } from '../table.ts'
import type { CaseResult, Outcome } from './suite.ts'

const tones: Readonly<Record<Outcome, Tone>> = {
  passed: 'good',
  refused: 'good',
  'not claimed': 'dim',
  'not shown': 'warning',
  failed: 'bad',
}

const idWidth = 15
const outcomeWidth = 12

/** Returns the line of a result. */
export const resultLine = ({ id, shows, outcome, duration_ms }: CaseResult): Piece[] => [
  plain(`${id.padEnd(idWidth)} `),
  { text: outcome.padEnd(outcomeWidth), tone: tones[outcome] },
  dim(`${elapsedText(duration_ms).padStart(9)}  `),
  plain(shows),
]

/** Returns the detail line below a result; undefined without detail. */
export const detailLine = ({ detail }: CaseResult): Piece | undefined =>
  detail === '' ? undefined : dim(`${' '.repeat(idWidth + 1)}${plainLine(detail, 1_000)}`)

/** Returns the counts: `12 passed, 1 refused, 2 not claimed`. */
export function countsText(results: readonly CaseResult[]): string {
  const groups = Map.groupBy(results, ({ outcome }) => outcome)
  return [...groups].map(([outcome, of]) => `${of.length} ${outcome}`).join(', ')
}

/** Returns the claimed capabilities of runtimes as a Markdown table. */
export function capabilityTable(runtimes: readonly Pick<RuntimeHarness, 'alias' | 'capabilities'>[]): string[] {
  const flags = [...new Set(runtimes.flatMap(({ capabilities }) => Object.keys(capabilities)))]
  const row = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [
    row(['Runtime', ...flags.map(flag => flag.replaceAll('_', ' '))]),
    row(['---', ...flags.map(() => ':-:')]),
    ...runtimes.map(({ alias, capabilities }) =>
      row([`\`${alias}\``, ...flags.map(flag => (capabilities[flag] ? 'yes' : 'no'))]),
    ),
  ]
}

/** Returns a table of cases and runtimes for suites that ran on several runtimes. */
export function matrixLines(suites: readonly { readonly runtime: string; readonly results: readonly CaseResult[] }[]) {
  const ids = [...new Set(suites.flatMap(({ results }) => results.map(({ id }) => id)))]
  const rows = ids.map(id => [
    id,
    ...suites.map(({ results }) => results.find(result => result.id === id)?.outcome ?? '-'),
  ])
  return tableLines(['CASE', ...suites.map(({ runtime }) => runtime)], rows)
}
