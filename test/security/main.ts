// npm run security               tests every control and every attack; prints id, control, checks, result and files
// npm run security -- S20 H4     only these
import { availableParallelism } from 'node:os'
import { relative } from 'node:path'
import { run } from 'node:test'
import { lackingPrograms } from '../../scripts/system-programs.ts'
import { withTestEnvironment } from '../../scripts/test-environment.ts'
import { attacks, type Control, controls } from './controls.ts'
import { checkFiles, idOfFile, idsIn, testFiles, wholeFiles } from './tests-of-controls.ts'

/** Longest time of one test. */
const timeoutMs = 600_000

/** Results of the tests of one control. */
interface Tally {
  passed: number
  readonly failures: string[]
  readonly skipped: Set<string>
  readonly files: Set<string>
}

const known = [...controls, ...attacks]
const wanted = process.argv.slice(2).map(name => name.toUpperCase())
const chosen = known.filter(({ id }) => wanted.length === 0 || wanted.includes(id))
if (chosen.length === 0 || wanted.some(name => known.every(({ id }) => id !== name))) {
  process.stderr.write(`unknown control; choose from ${known.map(({ id }) => id).join(', ')}\n`)
  process.exit(2)
}
const tallies = new Map(
  chosen.map(({ id }): [string, Tally] => [id, { passed: 0, failures: [], skipped: new Set(), files: new Set() }]),
)

await withTestEnvironment(lackingPrograms(), async env => {
  // One at a time: some checks measure how long the service takes to answer beside an attack.
  for (const file of checkFiles().filter(name => tallies.has(idOfFile(name))))
    await examine([file], { env, concurrency: 1, idsOf: name => [idOfFile(file), ...idsIn(name)] })
  const files = [...testFiles()].filter(([, ids]) => ids.some(id => tallies.has(id))).map(([file]) => file)
  const pattern = new RegExp(`\\b(${[...tallies.keys()].join('|')})\\b`)
  const { whole = [], filtered = [] } = Object.groupBy(files, file =>
    wholeFiles.includes(file) ? 'whole' : 'filtered',
  )
  const concurrency = availableParallelism()
  if (whole.length > 0) await examine(whole, { env, concurrency, idsOf: idsIn })
  if (filtered.length > 0) await examine(filtered, { env, concurrency, testNamePatterns: [pattern], idsOf: idsIn })
})

interface Examination {
  readonly env: NodeJS.ProcessEnv
  readonly concurrency: number
  readonly testNamePatterns?: RegExp[]
  /** Returns the controls that a test proves. */
  idsOf(name: string): readonly string[]
}

/** Runs the tests of files and adds each result to the controls in the name of the test. */
async function examine(files: readonly string[], { idsOf, ...options }: Examination): Promise<void> {
  for await (const { type, data } of run({ files: [...files], timeout: timeoutMs, ...options })) {
    if (type !== 'test:fail' && type !== 'test:pass') continue
    // A file without a test counts as its own test name; its failure is one of all its controls.
    const isFile = files.includes(relative(process.cwd(), data.name)) || files.includes(data.name)
    if (data.details.type === 'suite' || (isFile && type === 'test:pass')) continue
    const ids = isFile ? failedWith(data.name) : idsOf(data.name)
    for (const id of new Set(ids)) addTo(tallies.get(id), type === 'test:fail', data)
  }
}

const failedWith = (name: string): readonly string[] => [
  idOfFile(name),
  ...(testFiles().get(relative(process.cwd(), name)) ?? []),
]

interface Finished {
  readonly name: string
  readonly file?: string
  readonly skip?: string | boolean
  readonly details: { readonly error?: Error }
}

function addTo(tally: Tally | undefined, isFailed: boolean, { name, file, skip, details }: Finished): void {
  if (!tally) return
  if (file !== undefined) tally.files.add(relative(process.cwd(), file))
  if (isFailed) tally.failures.push(`${name}: ${reasonOf(details.error)}`)
  else if (skip === undefined) tally.passed++
  else tally.skipped.add(typeof skip === 'string' ? skip : 'skipped')
}

/** The message of the assertion, which the runner wraps. */
function reasonOf(error: Error | undefined): string {
  const { message = 'failed' } = error?.cause instanceof Error ? error.cause : (error ?? {})
  return message.replaceAll('\n', ' ').slice(0, 300)
}

function resultOf({ passed, failures, skipped }: Tally): string {
  if (failures.length > 0) return 'FAILED'
  if (passed > 0) return 'held'
  return skipped.size > 0 ? `NOT CHECKED: ${[...skipped].join('; ')}` : 'NO CHECK'
}

function line({ id, claim }: Control): string {
  const tally = tallies.get(id)
  if (!tally) return ''
  const checks = String(tally.passed + tally.failures.length)
  return `${id.padEnd(4)} ${claim.padEnd(96)} ${checks.padStart(6)}  ${resultOf(tally).padEnd(7)} ${[...tally.files].toSorted().join(' ')}`
}

const heading = `${'id'.padEnd(4)} ${'control'.padEnd(96)} ${'checks'.padStart(6)}  result  files`
process.stdout.write(`${heading}\n${chosen.map(line).join('\n')}\n`)
for (const [id, { failures }] of tallies)
  for (const failure of failures) process.stdout.write(`FAILED ${id} ${failure}\n`)
const held = [...tallies.values()].filter(tally => resultOf(tally) === 'held').length
process.stdout.write(`${held} of ${chosen.length} held\n`)
process.exitCode = held === chosen.length ? 0 : 1
