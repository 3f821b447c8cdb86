import { availableParallelism } from 'node:os'
import { relative } from 'node:path'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'

/** Longest time of one test, so that a test that hangs fails. */
const testTimeoutMs = 180_000
const shownFiles = 15

interface Options {
  readonly env: NodeJS.ProcessEnv
  /** Regular expressions: runs only tests whose name matches one of them. */
  readonly namePatterns: readonly string[]
}

/**
 * Runs test files in the given order, each in its own process and some at the same time. Prints the result of each test,
 * and the files with the longest running times. Returns the exit code.
 */
export async function runTests(files: readonly string[], { env, namePatterns }: Options): Promise<number> {
  const stopping = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stopping.abort())
  const tests = run({
    files,
    env,
    // One more than cores, because a third of the time of tests is waiting. With more, time limits of clients expire.
    concurrency: availableParallelism() + 1,
    timeout: testTimeoutMs,
    signal: stopping.signal,
    ...(namePatterns.length > 0 && { testNamePatterns: [...namePatterns] }),
  })
  const seconds = new Map<string, number>()
  tests.on('test:complete', ({ name, nesting, details }) => {
    // Suites of a shared process are files too.
    if (nesting === 0 && name.endsWith('.test.ts'))
      seconds.set(relative(process.cwd(), name), details.duration_ms / 1_000)
  })
  let isGreen = false
  tests.on('test:summary', ({ file, success }) => {
    if (file === undefined) isGreen = success
  })
  for await (const text of tests.compose(new spec())) process.stdout.write(String(text))
  process.stdout.write(slowest(seconds))
  return isGreen ? 0 : 1
}

function slowest(seconds: ReadonlyMap<string, number>): string {
  const shown = [...seconds].sort(([, a], [, b]) => b - a).slice(0, shownFiles)
  const lines = shown.map(([file, took]) => `${took.toFixed(1).padStart(7)} s  ${file}\n`)
  return `\nSlowest of ${seconds.size} test files:\n${lines.join('')}`
}
