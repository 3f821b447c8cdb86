// npm run conformance:mcp    the conformance suites of MCP, on servers of both eras, directly and through the proxy
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { run } from 'node:test'
import { variablesOf, withTestDatabase } from '../../../scripts/test-database.ts'
import { differencesOf, lineOf, type Run, reasonFor } from './outcomes.ts'

const here = import.meta.dirname
execFileSync(process.execPath, [join(here, '..', '..', '..', 'scripts', 'install.mjs'), here], { stdio: 'inherit' })

const runs: Run[] = []
let failures = 0

await withTestDatabase(async database => {
  // A test that starts a server gives it its own database, so the caller's must not reach it.
  delete process.env['DATABASE_URL']
  Object.assign(process.env, variablesOf(database))
  for await (const event of run({ files: [join(here, 'every-run.ts')], timeout: 1_200_000 })) {
    if (event.type === 'test:diagnostic' && event.data.message.startsWith('{'))
      runs.push(JSON.parse(event.data.message) as Run)
    if (event.type === 'test:fail') {
      failures++
      console.log(`FAILED: ${event.data.name}: ${event.data.details.error.message.slice(0, 2_000)}`)
    }
  }
})

for (const each of runs) {
  console.log(lineOf(each))
  for (const difference of differencesOf(each))
    console.log(`  ${difference}: ${reasonFor(each, difference) ?? 'UNEXPLAINED'}`)
}
if (failures > 0 || runs.length === 0) process.exitCode = 1
