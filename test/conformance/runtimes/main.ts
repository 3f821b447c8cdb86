import { run } from 'node:test'
import { variablesOf, withTestDatabase } from '../../../scripts/test-database.ts'
import { matrixLines } from '../../../src/cli/runtime-suite/report.ts'
import { allCases, type Outcome } from '../../../src/cli/runtime-suite/suite.ts'

/** By runtime: how each case came out. */
const outcomes = new Map<string, Map<string, Outcome>>()
let failures = 0

/** A line such as `builtin run passed`, which the tests say for each case. */
function take(line: string): void {
  const [, runtime, id, outcome] = /^(\S+) (\S+) (.+)$/.exec(line) ?? []
  if (runtime === undefined || id === undefined || !allCases.some(one => one.id === id)) return
  const known = outcomes.get(runtime) ?? new Map<string, Outcome>()
  outcomes.set(runtime, known.set(id, outcome as Outcome))
}

await withTestDatabase(async database => {
  // A test that starts a server gives it its own database, so the caller's must not reach it.
  delete process.env['DATABASE_URL']
  Object.assign(process.env, variablesOf(database))
  const files = [`${import.meta.dirname}/runtimes.test.ts`]
  for await (const event of run({ files, timeout: 600_000 })) {
    if (event.type === 'test:diagnostic') take(event.data.message)
    if (event.type === 'test:fail' && event.data.todo === undefined) {
      failures++
      console.log(`FAILED: ${event.data.name}`)
    }
  }
})

const suites = [...outcomes].map(([runtime, of]) => ({
  runtime,
  results: allCases.flatMap(({ id, shows }) => {
    const outcome = of.get(id)
    return outcome === undefined ? [] : [{ id, shows, outcome, detail: '', duration_ms: 0 }]
  }),
}))
for (const line of matrixLines(suites)) console.log(line)
if (failures > 0 || suites.length === 0) process.exitCode = 1
