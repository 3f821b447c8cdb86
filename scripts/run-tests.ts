import { relative } from 'node:path'
import { PassThrough } from 'node:stream'
import { run } from 'node:test'
import { spec, type TestEvent } from 'node:test/reporters'
import { runPool } from './test-pool.ts'

/** Longest time of one test, so that a test that hangs fails. */
const testTimeoutMs = 300_000
const shownFiles = 15
/** Of the message of a failed test. */
const shownCharacters = 300

interface Options {
  readonly env: NodeJS.ProcessEnv
  /** Regular expressions: runs only tests whose name matches one of them. */
  readonly namePatterns: readonly string[]
}

/**
 * Runs test files in the given order, each in its own process and some at the same time. Prints the result of each test,
 * the files with the longest running times, and last the failed tests, because often only the end of an output is kept.
 * Returns the exit code.
 */
export async function runTests(files: readonly string[], { env, namePatterns }: Options): Promise<number> {
  const stopping = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stopping.abort())
  const { signal } = stopping
  const startedAt = performance.now()
  const results = createResults()
  const events = new PassThrough({ objectMode: true })
  const report = events.compose(new spec())
  report.on('data', (text: unknown) => process.stdout.write(String(text)))
  await runPool({
    files,
    signal,
    eventsOf: file =>
      run({
        files: [file],
        env,
        timeout: testTimeoutMs,
        signal,
        ...(namePatterns.length > 0 && { testNamePatterns: [...namePatterns] }),
      }),
    take(event) {
      if (!results.takes(event)) events.write(event)
    },
  })
  for (const event of results.events(performance.now() - startedAt)) events.write(event)
  const reported = new Promise(resolve => report.on('end', resolve))
  events.end()
  await reported
  process.stdout.write(slowest(results.seconds) + failures(results.failed))
  return results.isGreen() && !signal.aborted ? 0 : 1
}

type Summary = Extract<TestEvent, { type: 'test:summary' }>['data']

/** The sum of the results of all runs, each of which has one file. */
function createResults() {
  const counts = { tests: 0, suites: 0, passed: 0, failed: 0, cancelled: 0, skipped: 0, todo: 0, topLevel: 0 }
  const seconds = new Map<string, number>()
  const failed: string[] = []
  let runs = 0
  let isGreen = true

  function add({ success, counts: of }: Summary): void {
    runs += 1
    isGreen &&= success
    for (const [name, count] of Object.entries(of)) counts[name as keyof typeof counts] += count
  }

  return {
    seconds,
    /** Failed tests, each with its file and the message of its error. */
    failed,
    isGreen: () => isGreen && runs > 0,

    /** Adds a result; returns true for an event that repeats one of a single run. */
    takes(event: TestEvent): boolean {
      const { type, data } = event
      if (type === 'test:fail') failed.push(...failure(data))
      // Suites of a shared process are files too.
      if (type === 'test:complete' && data.nesting === 0 && data.name.endsWith('.test.ts'))
        seconds.set(relative(process.cwd(), data.name), data.details.duration_ms / 1_000)
      if (type === 'test:summary' && data.file === undefined) add(data)
      return type === 'test:summary' || (type === 'test:diagnostic' && data.file === undefined && data.nesting === 0)
    },

    /** Events that end the report. */
    events(durationMs: number): TestEvent[] {
      const { tests, suites, passed, failed, cancelled, skipped, todo } = counts
      const lines = Object.entries({ tests, suites, pass: passed, fail: failed, cancelled, skipped, todo })
      return [...lines, ['duration_ms', durationMs] as const].map(([name, value]) => ({
        type: 'test:diagnostic',
        data: { nesting: 0, message: `${name} ${value}`, level: 'info' },
      }))
    },
  }
}

function slowest(seconds: ReadonlyMap<string, number>): string {
  const shown = [...seconds].sort(([, a], [, b]) => b - a).slice(0, shownFiles)
  const lines = shown.map(([file, took]) => `${took.toFixed(1).padStart(7)} s  ${file}\n`)
  return `\nSlowest of ${seconds.size} test files:\n${lines.join('')}`
}

type Failed = Extract<TestEvent, { type: 'test:fail' }>['data']

/** Returns a line for a failed test; none for a suite or file that failed because of its tests. */
function failure({ name, file, details, todo }: Failed): string[] {
  const { error } = details
  const isOwn = !('failureType' in error) || error.failureType !== 'subtestsFailed'
  if (!isOwn || todo !== undefined) return []
  const cause = error.cause instanceof Error ? error.cause : error
  const message = cause.message.replaceAll(/\s+/g, ' ').slice(0, shownCharacters)
  return [`${relative(process.cwd(), file ?? '')}: ${name}: ${message}`]
}

function failures(failed: readonly string[]): string {
  return failed.length === 0 ? '' : `\nFailed tests (${failed.length}):\n${failed.join('\n')}\n\n`
}
