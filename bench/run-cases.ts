import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { BenchCase } from './bench-case.ts'
import { machineNow } from './machine.ts'
import { isOver, type Measurement, textTable, writeResult } from './result-file.ts'

interface Options {
  /** Names the file below `bench/results` that keeps the figures, where there is more than one case; absent: none is written. */
  readonly subject?: string
}

/** Measures the cases one after the other and prints their figures. The exit code: 1 when a figure is over its target. */
export async function runCases(cases: readonly BenchCase[], { subject }: Options): Promise<number> {
  const machine = machineNow()
  const measurements: Measurement[] = []
  for (const chosen of cases) measurements.push({ case: chosen, figures: await measured(chosen) })
  process.stdout.write(`\n${textTable(measurements)}\n`)
  if (subject !== undefined) {
    const file = await writeResult(measurements, { folder: join(import.meta.dirname, 'results'), machine, subject })
    process.stdout.write(`\n${file}\n`)
  }
  return measurements.some(({ figures }) => figures.some(isOver)) ? 1 : 0
}

async function measured({ name, title, run }: BenchCase) {
  const log = (line: string) => void process.stderr.write(`  ${line}\n`)
  process.stderr.write(`${name}: ${title}\n`)
  const folder = await mkdtemp(join(tmpdir(), `switchyard-bench-${name}-`))
  // The database runs as another user, who must be able to pass through.
  await chmod(folder, 0o711)
  try {
    return await run({ folder, log })
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 })
  }
}
