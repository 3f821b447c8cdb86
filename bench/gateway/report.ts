import { rounded } from '../statistics.ts'
import { type Figure, verdictOf } from './figures.ts'
import { measurementTable } from './measurements.ts'
import { peerVersions } from './peers.ts'
import type { Outcome } from './rounds.ts'
import { type Effort, roundsOf, scenarios } from './scenarios.ts'
import { markdownTable } from './table.ts'

/** Contents of a result. */
export interface Result {
  readonly day: string
  /** The machine, described before the load. */
  readonly machine: string
  readonly effort: Effort
  readonly outcome: Outcome
  readonly figures: readonly Figure[]
  /** File name of the plot, which lies beside the text; undefined when none is stored. */
  readonly plot?: string
}

/** The result as Markdown. */
export function reportOf({ day, machine, effort, outcome, figures, plot }: Result): string {
  const rounds = roundsOf[effort]
  const versions = Object.entries(peerVersions()).map(([peer, version]) => `${peer} ${version}`)
  const parts = [
    `# Model gateway, ${day}`,
    `${machine}; ${versions.join(', ')}. ${rounds} ${rounds === 1 ? 'round' : 'rounds'} (${effort}), interleaved, fresh processes each.`,
    ...(plot === undefined ? [] : [`![CPU time and memory of each gateway](${plot})`]),
    '## Figures',
    figureTable(figures),
    '## Measurements',
    ...scenarios.map(scenario => measurementTable(scenario, outcome)),
    ...failureList(outcome),
    '## How it was measured',
    notes.map(note => `- ${note}`).join('\n'),
  ]
  return `${parts.join('\n\n')}\n`
}

const notes = [
  'CPU time is that of all threads of the gateway and of every process it started, from `/proc/PID/task/*/schedstat`, up to 1.2 s after the last answer, divided by requests or by upstream events. Ratios are of medians.',
  'wrk sends the JSON calls for a fixed time; streams are read by a program in C, which compares the time stamp of every event. An upstream in C answers both, and counts the answers and events by which CPU time is divided.',
  'Switchyard runs as `npm start` starts it: key checked, log and booking on, with its embedded database, whose CPU time is counted and shown apart ("in children"). Memory is that of the gateway process.',
  'The bare proxy is `node:http` and `undici` with no checks at all. in translation it relays the bytes of the same OpenAI chat answers; gateways there turn them into Anthropic’s format.',
  'Portkey answers streamed calls with status 500 as it installs today; `@hono/node-server` is pinned to 1.3.3 through `overrides`, which mends it. It runs with `--headless`, `TRUSTED_CUSTOM_HOSTS` and `x-portkey-custom-host`.',
  'claude-code-router runs with its log off, and a provider for each kind of answer. Both peers get a quarter of the calls, since theirs cost much more, and run on the same Node.',
  'A stalled event came later than the event before it by more than 200 ms, each measured from when the upstream sent it. "Added" is the time through the gateway minus the time without anything in between.',
]

function failureList({ failures }: Outcome): string[] {
  if (failures.length === 0) return []
  const lines = failures.map(
    ({ program, mode, scenario, reason }) =>
      `- ${program}, ${mode}, ${scenario}: ${reason.replaceAll(/\s+/g, ' ').slice(0, 300)}`,
  )
  return ['## What did not run', [...new Set(lines)].join('\n')]
}

function figureTable(figures: readonly Figure[]): string {
  const rows = figures.map(figure => {
    const { name, value, unit, goal, detail } = figure
    const target = goal ? `${goal.is} ${goal.target}` : ''
    const shown = Number.isNaN(value) ? 'not measured' : `${rounded(value)} ${unit}`.trim()
    return [name, shown, target, verdictOf(figure), detail]
  })
  return markdownTable(['figure', 'value', 'target', 'verdict', 'detail'], rows)
}
