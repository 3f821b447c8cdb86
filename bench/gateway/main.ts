// Measures the model gateway beside a bare proxy and other gateways, in one interleaved run. Linux only.
// npm run bench:gateway                     three rounds; about twenty minutes
// npm run bench:gateway -- quick            one round; about seven minutes
// With --write the result is stored below bench/results. Ends with 1 when a target is missed.
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { machineNow } from '../machine.ts'
import { plotOf } from '../plot.ts'
import { startUpstream } from '../upstream/upstream.ts'
import type { Program } from './contenders.ts'
import { type Figure, figuresOf, verdictOf } from './figures.ts'
import { chartsOf } from './measurements.ts'
import { installPeers } from './peers.ts'
import { reportOf } from './report.ts'
import { runRounds } from './rounds.ts'
import type { Setting } from './running.ts'
import { type Effort, roundsOf } from './scenarios.ts'
import { upstreamAnswers } from './upstream-answers.ts'

const results = join(import.meta.dirname, '..', 'results')
const day = new Date().toISOString().slice(0, 10)
const machine = machineNow()
const usage = 'Usage: npm run bench:gateway -- [quick] [--write]\n'

// What was started ends with this process, but only when it leaves by itself.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
process.exitCode = await main(process.argv.slice(2))

async function main(args: readonly string[]): Promise<number> {
  const run = runFor(args.filter(arg => arg !== '--write'))
  if (!run) {
    process.stderr.write(usage)
    return 1
  }
  const { text, figures, files } = await withSetting(run)
  process.stdout.write(`\n${text}`)
  if (args.includes('--write')) await store(files)
  return figures.some(figure => verdictOf(figure) === 'MISSED') ? 1 : 0
}

/** Output of a run, and the files to write. */
interface Report {
  readonly text: string
  readonly figures: readonly Figure[]
  readonly files: Readonly<Record<string, string>>
}

type Run = (setting: Setting) => Promise<Report>

function runFor([mode, ...rest]: readonly string[]): Run | undefined {
  if (rest.length > 0) return undefined
  if (mode === undefined) return setting => compare(setting, 'full')
  return mode === 'quick' ? setting => compare(setting, 'quick') : undefined
}

function log(line: string): void {
  process.stderr.write(`${line}\n`)
}

async function compare(setting: Setting, effort: Effort): Promise<Report> {
  const reason = installPeers()
  const peers: readonly Program[] = ['Portkey', 'claude-code-router']
  const absent = new Map(reason === undefined ? [] : peers.map(peer => [peer, reason]))
  const outcome = await runRounds({ rounds: roundsOf[effort], setting, absent, log })
  const figures = figuresOf(outcome)
  const name = `${day}-gateway`
  const text = reportOf({ day, machine, effort, outcome, figures, plot: `${name}.svg` })
  const subtitle = `${day}, ${machine}; median of the rounds: ${roundsOf[effort]}`
  const plot = plotOf({ title: 'Switchyard’s model gateway beside others', subtitle, charts: chartsOf(outcome) })
  return { text, figures, files: { [`${name}.md`]: text, [`${name}.svg`]: plot } }
}

/** Starts the upstream and makes a folder, for as long as the run takes. */
async function withSetting(run: Run): Promise<Report> {
  const folder = await mkdtemp(join(tmpdir(), 'switchyard-bench-gateway-'))
  // The database runs as another user, who must be able to pass through.
  await chmod(folder, 0o711)
  const upstream = await startUpstream(join(folder, 'upstream'), upstreamAnswers())
  try {
    return await run({ upstream: upstream.origin, counts: upstream.counts, folder })
  } finally {
    await upstream.stop()
    await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 })
  }
}

async function store(files: Report['files']): Promise<void> {
  await mkdir(results, { recursive: true })
  for (const [name, content] of Object.entries(files)) {
    await writeFile(join(results, name), content)
    process.stdout.write(`${join(results, name)}\n`)
  }
}
