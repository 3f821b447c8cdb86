import { mkdtempSync } from 'node:fs'
import { chmod, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eventually } from '../support/service/eventually.ts'
import { type Cluster, startCluster } from './cluster.ts'
import { type Bench, type FaultCase, Skipped } from './fault-case.ts'
import { processesOf } from './processes.ts'
import { seeded } from './random.ts'

/** How a case went. */
export interface Report {
  readonly id: string
  readonly title: string
  readonly rounds: number
  readonly result: 'passed' | 'failed' | `skipped: ${string}`
  readonly numbers: Readonly<Record<string, number | string>>
  readonly seconds: number
}

interface Place {
  readonly seed: number
  /** 1 unless given; see `Bench`. */
  readonly times?: number
  /** Absent for cases that bring their own database. */
  readonly cluster?: Cluster
}

/** Runs the cases one after the other, each with a random source of the same seed, and prints each result. */
export async function runCases(cases: readonly FaultCase[], given: Omit<Place, 'cluster'>): Promise<Report[]> {
  const folder = await openFolder('switchyard-faults-')
  const cluster = await startCluster(join(folder, 'cluster'))
  const reports: Report[] = []
  try {
    for (const fault of cases) {
      process.stdout.write(`${fault.id}: ${fault.title}\n`)
      const report = await runCase(fault, { ...given, cluster })
      reports.push(report)
      process.stdout.write(`${fault.id}: ${report.result} ${JSON.stringify(report.numbers)} ${report.seconds} s\n`)
    }
  } finally {
    await cluster.stop()
    await rm(folder, { recursive: true, force: true, maxRetries: 10 })
  }
  return reports
}

async function runCase(fault: FaultCase, place: Place): Promise<Report> {
  const startedAt = performance.now()
  const { id, title } = fault
  const report = (rest: Pick<Report, 'result' | 'rounds' | 'numbers'>): Report => ({
    id,
    title,
    ...rest,
    seconds: Math.round((performance.now() - startedAt) / 1_000),
  })
  try {
    const { rounds, numbers } = await runOnBench(bench => fault.run(bench), place)
    return report({ result: 'passed', rounds, numbers })
  } catch (error) {
    if (error instanceof Skipped) return report({ result: `skipped: ${error.message}`, rounds: 0, numbers: {} })
    const reason = error instanceof Error ? error.message : String(error)
    process.stdout.write(`${error instanceof Error ? error.stack : reason}\n`)
    return report({ result: 'failed', rounds: 0, numbers: { reason: reason.slice(0, 500) } })
  }
}

/** Runs one case and undoes what it began, also when it failed; then nothing of it may run any more (I8). */
export async function runOnBench<T>(
  run: (bench: Bench) => Promise<T>,
  { seed, cluster, times = 1 }: Place,
): Promise<T> {
  const folder = await openFolder('switchyard-fault-')
  const undo: (() => unknown)[] = []
  const ended = new AbortController()
  const bench = {
    random: seeded(seed),
    times,
    folder,
    cluster: cluster ?? noCluster,
    signal: ended.signal,
    defer: (work: () => unknown) => void undo.push(work),
    log: (line: string) => void process.stdout.write(`  ${line}\n`),
  }
  try {
    return await run(bench)
  } finally {
    ended.abort()
    for (const work of undo.reverse()) await work()
    await nothingRunsIn(folder)
    await rm(folder, { recursive: true, force: true, maxRetries: 10 })
  }
}

const absent = () => {
  throw new Error('this bench has no database server')
}
const noCluster: Cluster = { database: absent, start: absent, stop: absent, freeze: absent }

/** Databases and tools run as another user, who must be able to pass through. */
async function openFolder(prefix: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), prefix))
  await chmod(folder, 0o711)
  return folder
}

/** Killed processes may take a moment to take their children along. */
async function nothingRunsIn(folder: string): Promise<void> {
  let left: string[] = []
  const isEmpty = () => {
    left = processesOf(folder)
    return left.length === 0
  }
  await eventually(isEmpty, { withinMs: 10_000 }).catch(() => {
    throw new Error(`I8 is broken: processes are left: ${left.join('; ')}`)
  })
}
