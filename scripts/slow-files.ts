import { relative } from 'node:path'
import type { TestEvent } from 'node:test/reporters'

const shown = 15

/** Reporter that prints the test files with the longest running times. Suites of shared processes are files too. */
// biome-ignore lint/style/noDefaultExport: Node.js reads a reporter from the default export.
export default async function* slowFiles(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const seconds = new Map<string, number>()
  for await (const { type, data } of events) {
    if (type !== 'test:complete' || data.nesting !== 0 || !data.name.endsWith('.test.ts')) continue
    seconds.set(relative(process.cwd(), data.name), data.details.duration_ms / 1_000)
  }
  const slowest = [...seconds].sort(([, a], [, b]) => b - a).slice(0, shown)
  const lines = slowest.map(([file, took]) => `${took.toFixed(1).padStart(7)} s  ${file}`)
  yield `\nSlowest of ${seconds.size} test files:\n${lines.join('\n')}\n`
}
