// Measures sessions: what a turn costs, and how that grows with sessions, readers and the length of a log. Linux only.
// npm run bench:sessions                                          every case
// npm run bench:sessions -- <names> [--against <commit>] [--write]  these cases, beside another commit where they compare
// Ends with 1 when a figure is over its target.
import { parseArgs } from 'node:util'
import type { BenchCase } from '../bench-case.ts'
import { runCases } from '../run-cases.ts'
import { disk } from './disk.ts'
import { growth } from './growth.ts'
import { longLog } from './long-log.ts'
import { queue } from './queue.ts'
import { readers } from './readers.ts'
import { turn } from './turn.ts'

const casesWith = (against: string | undefined): readonly BenchCase[] => [
  turn(against),
  growth,
  disk(against),
  queue,
  longLog,
  ...readers,
]

// What was started ends with this process, but only when it exits by itself.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
process.exitCode = await main(process.argv.slice(2))

async function main(args: readonly string[]): Promise<number> {
  const names = casesWith(undefined).map(({ name }) => name)
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: { against: { type: 'string' }, write: { type: 'boolean', default: false } },
    })
    const unknown = positionals.find(name => !names.includes(name))
    if (unknown !== undefined) throw new Error(`unknown case: ${unknown}`)
    const chosen = casesWith(values.against).filter(
      ({ name }) => positionals.length === 0 || positionals.includes(name),
    )
    return await runCases(chosen, { ...(values.write && { subject: 'sessions' }) })
  } catch (error) {
    const usage = `Usage: npm run bench:sessions -- [${names.join('] [')}] [--against <commit>] [--write]`
    process.stderr.write(`${error instanceof Error ? error.message : error}\n${usage}\n`)
    return 1
  }
}
