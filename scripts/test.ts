// Runs the tests against one PostgreSQL: that of DATABASE_URL, or an embedded one for this run.
// npm test                       every test
// npm test -- <files> [--flags]  these files, with flags of `node --test` such as --test-name-pattern=text
import { execFileSync, spawn } from 'node:child_process'
import { globSync, mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { lackVariable, type SystemProgram } from '../test/support/service/lack.ts'
import { filesThatNeed, lackingPrograms } from './system-programs.ts'
import { type TestDatabase, variablesOf, withTestDatabase } from './test-database.ts'
import { testPlan } from './test-plan.ts'

const root = join(import.meta.dirname, '..')
/** Folders with packages of their own, which only tests need. */
const packages = ['clients', 'api-reference'].map(name => join(root, 'test', name))

process.exitCode = await main(process.argv.slice(2))

async function main(args: string[]): Promise<number> {
  const flags = args.filter(arg => arg.startsWith('-'))
  const chosen = chosenFiles(args.filter(arg => !arg.startsWith('-')))
  const lacking = lackingPrograms()
  const leftOut = chosen.filter(file =>
    lacking.some(program => filesThatNeed[program].some(name => file.endsWith(name))),
  )
  const files = chosen.filter(file => !leftOut.includes(file))
  if (files.length === 0) {
    process.stderr.write('No test file found, or not one for each name.\n')
    return 1
  }
  if (lacking.length > 0 && process.env['CI']) {
    process.stderr.write(`The tests need ${lacking.join(' and ')}: apt-get install ${lacking.join(' ')}\n`)
    return 1
  }
  for (const folder of packages)
    execFileSync(process.execPath, [join(import.meta.dirname, 'install.mjs'), folder], { stdio: 'inherit' })
  const folder = mkdtempSync(join(tmpdir(), 'switchyard-test-plan-'))
  // A few chosen files run in processes of their own, so that flags such as --test-only apply to each.
  const entries = args.length > 0 ? files : testPlan(files, folder)
  const code = await withTestDatabase(database => runTests(entries, flags, { ...database, lacking }))
  rmSync(folder, { recursive: true })
  process.stdout.write(`${files.length} test files examined\n`)
  if (lacking.length > 0) {
    const install = `apt-get install ${lacking.join(' ')}`
    process.stdout.write(
      `NOT TESTED without ${lacking.join(' and ')} (${install}): ${leftOut.length} files, and what is skipped above\n`,
    )
  }
  return code
}

function chosenFiles(patterns: readonly string[]): string[] {
  if (patterns.length > 0) {
    const found = patterns.map(pattern => globSync(pattern))
    return found.every(files => files.length > 0) ? found.flat() : []
  }
  return globSync(['{src,test,bench}/**/*.test.ts'], { cwd: root, exclude: ['**/node_modules/**'] })
    .map(file => join(root, file))
    .sort()
}

interface Setting extends TestDatabase {
  readonly lacking: readonly SystemProgram[]
}

function runTests(files: string[], flags: string[], { lacking, ...database }: Setting): Promise<number> {
  // A test that starts a server gives it its own database, so the caller's must not reach it.
  const { DATABASE_URL: _, ...env } = process.env
  const child = spawn(
    process.execPath,
    [
      '--test',
      `--test-concurrency=${availableParallelism() + 1}`,
      '--test-timeout=180000',
      '--test-reporter=spec',
      '--test-reporter-destination=stdout',
      `--test-reporter=${join(import.meta.dirname, 'slow-files.ts')}`,
      '--test-reporter-destination=stdout',
      ...flags,
      ...files,
    ],
    {
      stdio: 'inherit',
      env: { ...env, ...variablesOf(database), [lackVariable]: lacking.join(' ') },
    },
  )
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal))
  return new Promise(resolve => {
    child.once('exit', code => resolve(code ?? 1))
  })
}
