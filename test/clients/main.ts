// npm run clients               every client on models of every foreign format; prints the table
// npm run clients -- --write    and stores it as docs/clients-table.md
// npm run clients -- Codex      only clients with that text in their names
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { run } from 'node:test'
import { variablesOf, withTestDatabase } from '../../scripts/test-database.ts'
import type { Cell } from './cells.ts'
import { clients } from './clients.ts'
import { failuresOf, tableOf } from './table.ts'

const here = import.meta.dirname
const root = join(here, '..', '..')
const isWritten = process.argv.includes('--write')
const only = process.argv.slice(2).find(argument => !argument.startsWith('-'))
const chosen = clients.filter(({ name }) => only === undefined || name.includes(only))
if (isWritten && only !== undefined) throw new Error('--write stores the whole table: leave the name out')
if (chosen.length === 0) throw new Error(`no client has ${only} in its name`)

execFileSync(process.execPath, [join(root, 'scripts', 'install.mjs'), here], { stdio: 'inherit' })

const cells: Cell[] = []
const broken: string[] = []

await withTestDatabase(async database => {
  // A test that starts a server gives it its own database, so the caller's must not reach it.
  delete process.env['DATABASE_URL']
  Object.assign(process.env, variablesOf(database))
  const testNamePatterns = chosen.map(({ name }) => new RegExp(`^${RegExp.escape(name)} on `))
  for await (const event of run({ files: [join(here, 'every-cell.ts')], timeout: 3_600_000, testNamePatterns })) {
    if (event.type === 'test:diagnostic' && event.data.message.startsWith('{'))
      cells.push(JSON.parse(event.data.message) as Cell)
    if (event.type === 'test:fail') broken.push(`${event.data.name}: ${event.data.details.error.message}`)
  }
})

const { dependencies, optionalDependencies } = JSON.parse(readFileSync(join(here, 'package.json'), 'utf8')) as Record<
  string,
  Record<string, string>
>
const table = tableOf({ clients: chosen, cells, versions: { ...dependencies, ...optionalDependencies } })
console.log(table)
for (const line of broken) console.log(`NOT RUN: ${line}`)
if (isWritten) writeFileSync(join(root, 'docs', 'clients-table.md'), table)
if (cells.length === 0 || broken.length > 0 || cells.some(cell => failuresOf(cell).length > 0)) process.exitCode = 1
