// Measures the service side by side with yardsticks, as real processes. Linux only, since it reads /proc.
// npm run bench                       every case
// npm run bench -- <names> [--write]  these cases; --write stores the table below bench/results
// Ends with 1 when a figure is over its target.
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { BenchCase } from './bench-case.ts'
import { foreignEvents } from './foreign-events.ts'
import { longLists } from './lists.ts'
import { load } from './load.ts'
import { pickUp } from './pick-up.ts'
import { rawLane } from './raw-lane.ts'
import { isOver, type Measurement, textTable, writeResult } from './result-file.ts'
import { start } from './start.ts'

const cases: readonly BenchCase[] = [start, rawLane, pickUp, foreignEvents, longLists, load]

process.exitCode = await main(process.argv.slice(2))

async function main(args: readonly string[]): Promise<number> {
  const names = args.filter(arg => !arg.startsWith('-'))
  const unknown = names.find(name => !cases.some(({ name: known }) => known === name))
  if (unknown !== undefined || args.some(arg => arg.startsWith('-') && arg !== '--write')) {
    process.stderr.write(`Usage: npm run bench -- [${cases.map(({ name }) => name).join('] [')}] [--write]\n`)
    return 1
  }
  const measurements: Measurement[] = []
  for (const chosen of cases.filter(({ name }) => names.length === 0 || names.includes(name))) {
    measurements.push({ case: chosen, figures: await measured(chosen) })
  }
  process.stdout.write(`\n${textTable(measurements)}\n`)
  if (args.includes('--write')) {
    process.stdout.write(`\n${await writeResult(measurements, join(import.meta.dirname, 'results'))}\n`)
  }
  return measurements.some(({ figures }) => figures.some(isOver)) ? 1 : 0
}

async function measured({ name, title, run }: BenchCase) {
  const say = (line: string) => void process.stderr.write(`  ${line}\n`)
  process.stderr.write(`${name}: ${title}\n`)
  const folder = await mkdtemp(join(tmpdir(), `switchyard-bench-${name}-`))
  // The database runs as another user, who must be able to pass through.
  await chmod(folder, 0o711)
  try {
    return await run({ folder, say })
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 })
  }
}
