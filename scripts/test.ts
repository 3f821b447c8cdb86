// Runs the tests against one PostgreSQL: that of DATABASE_URL, or an embedded one for this run.
// npm test                                               every test
// npm test -- <files>                                    these files
// npm test -- <files> --test-name-pattern=<expression>   tests of these files whose name matches
import { globSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { SystemProgram } from '../test/support/service/lack.ts'
import { runTests } from './run-tests.ts'
import { filesThatNeed, lackingPrograms } from './system-programs.ts'
import { withTestEnvironment } from './test-environment.ts'
import { testPlan } from './test-plan.ts'

const root = join(import.meta.dirname, '..')

process.exitCode = await main(process.argv.slice(2))

async function main(args: string[]): Promise<number> {
  const { values, positionals: patterns } = parseArgs({
    args,
    allowPositionals: true,
    options: { 'test-name-pattern': { type: 'string', multiple: true, default: [] } },
  })
  const namePatterns = values['test-name-pattern']
  const chosen = chosenFiles(patterns)
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
  const folder = mkdtempSync(join(tmpdir(), 'switchyard-test-plan-'))
  try {
    const entries = patterns.length > 0 ? files : testPlan(files, folder)
    return await withTestEnvironment(lacking, env => runTests(entries, { env, namePatterns }))
  } finally {
    rmSync(folder, { recursive: true })
    process.stdout.write(`${files.length} test files examined\n`)
    if (lacking.length > 0) process.stdout.write(notTested(lacking, leftOut.length))
  }
}

const notTested = (lacking: readonly SystemProgram[], files: number): string =>
  `NOT TESTED without ${lacking.join(' and ')} (apt-get install ${lacking.join(' ')}): ${files} files, and what is skipped above\n`

function chosenFiles(patterns: readonly string[]): string[] {
  if (patterns.length > 0) {
    const found = patterns.map(pattern => globSync(pattern))
    return found.every(files => files.length > 0) ? found.flat() : []
  }
  return globSync(['{src,test,bench,web/src}/**/*.test.ts'], { cwd: root, exclude: ['**/node_modules/**'] })
    .map(file => join(root, file))
    .sort()
}
