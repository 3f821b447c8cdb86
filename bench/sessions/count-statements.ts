// Loaded into a service with --import: counts the statements that it sends to PostgreSQL. SIGUSR2 lets it write the count
// to the file that STATEMENTS_FILE names.
import { writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'

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
  process.on('SIGUSR2', () => writeFileSync(file, String(statements)))
}
