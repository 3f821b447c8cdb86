import type { Environment, Overrides } from '../server/config.ts'
import { type ExitCode, exitCodes } from './exit-codes.ts'
import type { Out } from './out.ts'
import type { LocalServer } from './serve.ts'

interface MigrateArguments {
  readonly env: Environment
  readonly overrides: Overrides
  readonly mode: 'plan' | 'apply'
}

/** `migrate`: brings the database to this version of the program, or lists what that would take. */
export async function migrateDatabase(server: LocalServer, args: MigrateArguments, out: Out): Promise<ExitCode> {
  const { env, overrides, mode } = args
  const config = await server.configure({ env, overrides })
  const { database, migrations } = await server.upgrade(config, mode)
  out.data({ database, mode, migrations })
  if (migrations.length === 0) out.line('The database is up to date.')
  else out.line(mode === 'plan' ? 'These migrations would be applied:' : 'These migrations were applied:')
  for (const name of migrations) out.line(`  ${name}`)
  return exitCodes.ok
}
