import { globSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { run } from 'node:test'
import { variablesOf, withTestDatabase } from '../../../scripts/test-database.ts'
import { allCases, casesOf, groups } from './cases.ts'

/** Tests of one group: those that passed, and all. */
interface Tally {
  passed: number
  total: number
  readonly covered: Set<string>
}

const tallies = new Map<string, Tally>(
  groups.map(({ letter }) => [letter, { passed: 0, total: 0, covered: new Set() }]),
)
const failures: string[] = []

function take(name: string, isPassed: boolean): void {
  const cases = casesOf(name)
  for (const letter of new Set(cases.map(id => id[0] ?? ''))) {
    const tally = tallies.get(letter)
    if (!tally) continue
    tally.total++
    if (isPassed) tally.passed++
    for (const id of cases) if (isPassed && id.startsWith(letter)) tally.covered.add(id)
  }
  if (!isPassed) failures.push(name)
}

const files = globSync(['test/conformance/gateway/*.test.ts', 'src/server/gateway/**/*.test.ts'])

await withTestDatabase(async database => {
  // A test that starts a server gives it its own database, so the caller's must not reach it.
  delete process.env['DATABASE_URL']
  Object.assign(process.env, variablesOf(database))
  for await (const event of run({ files, concurrency: availableParallelism(), timeout: 300_000 })) {
    if (event.type !== 'test:pass' && event.type !== 'test:fail') continue
    const { name, skip } = event.data
    const { type } = event.data.details
    if (type !== 'suite' && skip === undefined) take(name, event.type === 'test:pass')
  }
})

console.log('group                           cases      passed   total')
for (const { letter, about, cases } of groups) {
  const { passed, total, covered } = tallies.get(letter) ?? { passed: 0, total: 0, covered: new Set() }
  const shown = `${covered.size} of ${cases.length}`
  console.log(
    `${letter}  ${about.padEnd(28)} ${shown.padStart(9)} ${String(passed).padStart(8)} ${String(total).padStart(7)}`,
  )
}
for (const name of failures) console.log(`FAILED: ${name}`)
const missing = allCases.filter(id => !tallies.get(id[0] ?? '')?.covered.has(id))
if (missing.length > 0) console.log(`NOT COVERED: ${missing.join(' ')}`)
if (failures.length > 0 || missing.length > 0) process.exitCode = 1
