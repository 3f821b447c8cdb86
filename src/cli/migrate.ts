import { type ExitCode, exitCodes } from './exit-codes.ts'
import type { LocalService, ServerInputs } from './local-service.ts'
import type { Out } from './out.ts'

interface MigrateArguments extends ServerInputs {
  readonly mode: 'plan' | 'apply'
}

/** `migrate`: brings the database to this version of the program, or lists what that would take. */
export async function migrateDatabase(server: LocalService, args: MigrateArguments, out: Out): Promise<ExitCode> {
  const { env, overrides, mode } = args
  const config = await server.configure({ env, overrides })
  const { database, migrations } = await server.upgrade(config, mode)
  out.data({ database, mode, migrations })
  if (migrations.length === 0) out.line('The database is up to date.')
  else out.line(mode === 'plan' ? 'These migrations would be applied:' : 'These migrations were applied:')
  for (const name of migrations) out.line(`  ${name}`)
  return exitCodes.ok
}
