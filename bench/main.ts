// Measures the service side by side with yardsticks, as real processes. Linux only, since it reads /proc.
// npm run bench                       every case
// npm run bench -- <names> [--write]  these cases; --write stores the table below bench/results
// npm run bench -- calls [--against <commit>] [--only <text>] [--rounds <number>] [--seconds <number>] [--write]
//   CPU time of model calls beside a bare proxy and another commit of this repository
// Ends with 1 when a figure is over its target.
import { parseArgs } from 'node:util'
import type { BenchCase } from './bench-case.ts'
import { type CallsOptions, modelCalls } from './calls/calls.ts'
import { evaluations } from './evaluations.ts'
import { foreignEvents } from './foreign-events.ts'
import { longLists } from './lists.ts'
import { load } from './load.ts'
import { pickUp } from './pick-up.ts'
import { runCases } from './run-cases.ts'
import { start } from './start.ts'
import { telemetry } from './telemetry.ts'

const caseNames = ['start', 'calls', 'pick-up', 'foreign-events', 'lists', 'load', 'telemetry', 'evaluations']
const usage =
  `Usage: npm run bench -- [${caseNames.join('] [')}] [--write]\n` +
  'Of calls: [--against <commit>] [--only <text>] [--rounds <number>] [--seconds <number>]\n'

// What was started ends with this process, but only when it exits by itself.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
process.exitCode = await main(process.argv.slice(2))

interface Request {
  readonly chosen: readonly BenchCase[]
  readonly isWritten: boolean
}

async function main(args: readonly string[]): Promise<number> {
  const request = requestOf(args)
  if (typeof request === 'string') {
    process.stderr.write(`${request}\n${usage}`)
    return 1
  }
  return runCases(request.chosen, { ...(request.isWritten && { subject: 'foundation' }) })
}

/** What is asked for, or what is wrong with it. */
function requestOf(args: readonly string[]): Request | string {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        write: { type: 'boolean', default: false },
        against: { type: 'string' },
        only: { type: 'string' },
        rounds: { type: 'string', default: '3' },
        seconds: { type: 'string', default: '3' },
      },
    })
    const unknown = positionals.find(name => !caseNames.includes(name))
    if (unknown !== undefined) return `unknown case: ${unknown}`
    const { against, only } = values
    const options = { ...(against !== undefined && { against }), ...(only !== undefined && { only }) }
    const counts = { rounds: countOf('rounds', values.rounds), seconds: countOf('seconds', values.seconds) }
    const chosen = casesWith({ ...options, ...counts }).filter(
      ({ name }) => positionals.length === 0 || positionals.includes(name),
    )
    return { chosen, isWritten: values.write }
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

function casesWith(options: CallsOptions): BenchCase[] {
  return [start, modelCalls(options), pickUp, foreignEvents, longLists, load, telemetry, evaluations]
}

function countOf(option: string, text: string): number {
  if (/^[1-9]\d{0,3}$/.test(text)) return Number(text)
  throw new Error(`--${option} must be a whole number from 1 to 9999`)
}
