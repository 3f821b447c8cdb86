// Loaded into a service with --import: counts the statements that it sends to PostgreSQL. On SIGUSR2 it collects garbage
// and writes the count, its memory and its timers to the file that STATEMENTS_FILE names.
import { renameSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { queryObjects, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

interface Query {
  query(...given: unknown[]): unknown
}

const file = process.env['STATEMENTS_FILE']
// The launcher and npm load it as well, and send none.
if (file !== undefined && process.argv[1]?.endsWith('src/cli/main.ts')) {
  const require = createRequire(join(process.cwd(), 'package.json'))
  const { Client } = require('pg') as { Client: { prototype: Query } }
  const { query } = Client.prototype
  let statements = 0
  Client.prototype.query = function (...given) {
    statements++
    return query.apply(this, given)
  }
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const timer = setTimeout(() => undefined, 0)
  const Timeout = timer.constructor
  clearTimeout(timer)
  process.on('SIGUSR2', () => {
    collect()
    const { heapUsed, external } = process.memoryUsage()
    const figures = { statements, heapBytes: heapUsed + external, timers: queryObjects(Timeout) }
    writeFileSync(`${file}.part`, JSON.stringify(figures))
    renameSync(`${file}.part`, file)
  })
}
