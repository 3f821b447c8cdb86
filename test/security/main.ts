// npm run security               attacks a running service and prints control, checks and result
// npm run security -- H4 M7      only these controls
import { globSync } from 'node:fs'
import { basename } from 'node:path'
import { run } from 'node:test'
import { variablesOf, withTestDatabase } from '../../scripts/test-database.ts'
import { type Control, controls } from './controls.ts'

/** Checks of one control. */
interface Tally {
  passed: number
  readonly failures: string[]
}

const wanted = process.argv.slice(2).map(name => name.toUpperCase())
const chosen = controls.filter(({ id }) => wanted.length === 0 || wanted.includes(id))
if (chosen.length === 0) {
  process.stderr.write(`unknown control; choose from ${controls.map(({ id }) => id).join(', ')}\n`)
  process.exit(2)
}
const tallies = new Map<string, Tally>(chosen.map(({ id }) => [id, { passed: 0, failures: [] }]))
const idOf = (file: string): string => (basename(file).split('-')[0] ?? '').toUpperCase()

await withTestDatabase(async database => {
  // A check that starts a service passes it a separate database, so the caller's must not reach it.
  delete process.env['DATABASE_URL']
  Object.assign(process.env, variablesOf(database))
  // One at a time: some checks measure how long the service takes to answer beside an attack.
  for (const file of globSync('test/security/*.check.ts')) {
    const tally = tallies.get(idOf(file))
    if (tally) await examine(file, tally)
  }
})

/** Runs the checks of one file, which may be defined in a file of its support. */
async function examine(file: string, tally: Tally): Promise<void> {
  for await (const { type, data } of run({ files: [file], concurrency: 1, timeout: 300_000 })) {
    if (type === 'test:fail') tally.failures.push(`${data.name}: ${reasonOf(data.details.error)}`)
    // A file without a test counts as its own test name.
    else if (
      type === 'test:pass' &&
      data.details.type !== 'suite' &&
      data.name !== data.file &&
      data.skip === undefined
    )
      tally.passed++
  }
}

/** The message of the assertion, which the runner wraps. */
function reasonOf(error: Error): string {
  const { message } = error.cause instanceof Error ? error.cause : error
  return message.replaceAll('\n', ' ').slice(0, 300)
}

const resultOf = ({ passed, failures }: Tally): string =>
  failures.length > 0 ? 'FAILED' : passed > 0 ? 'held' : 'NO CHECK'

function line({ id, claim }: Control): string {
  const tally = tallies.get(id) ?? { passed: 0, failures: [] }
  const checks = String(tally.passed + tally.failures.length)
  return `${id.padEnd(4)} ${claim.padEnd(82)} ${checks.padStart(6)}  ${resultOf(tally)}`
}

process.stdout.write(`${'id'.padEnd(4)} ${'control'.padEnd(82)} checks  result\n${chosen.map(line).join('\n')}\n`)
for (const { failures } of tallies.values()) for (const failure of failures) process.stdout.write(`FAILED ${failure}\n`)
process.exitCode = [...tallies.values()].every(tally => resultOf(tally) === 'held') ? 0 : 1
