import { type ExitCode, exitCodes } from './exit-codes.ts'
import type { LocalService, ServerInputs } from './local-service.ts'
import type { Out } from './out.ts'

interface MigrateArguments extends ServerInputs {
  readonly mode: 'plan' | 'apply'
}

/** `migrate`: applies pending migrations, or lists them. */
export async function migrateDatabase(server: LocalService, args: MigrateArguments, out: Out): Promise<ExitCode> {
  const { env, overrides, mode } = args
  const config = await server.configure({ env, overrides })
  const { database, migrations } = await server.upgrade(config, mode)
  out.data({ database, mode, migrations })
  if (migrations.length === 0) out.line('The database is up to date.')
  else out.line(mode === 'plan' ? 'Pending migrations:' : 'Applied migrations:')
  for (const name of migrations) out.line(`  ${name}`)
  return exitCodes.ok
}
