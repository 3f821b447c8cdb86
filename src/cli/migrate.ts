import type { MigrationStep } from '../server/upgrade.ts'
import { type ExitCode, exitCodes } from './exit-codes.ts'
import type { LocalService, ServerInputs } from './local-service.ts'
import { dim, type Out } from './out.ts'

interface MigrateArguments extends ServerInputs {
  readonly mode: 'plan' | 'apply'
}

/** `migrate`: applies pending migrations, or lists them. */
export async function migrateDatabase(server: LocalService, args: MigrateArguments, out: Out): Promise<ExitCode> {
  const { env, overrides, mode } = args
  const config = await server.configure({ env, overrides })
  const { database, migrations, steps } = await server.upgrade(config, mode)
  out.data({ database, mode, migrations, steps })
  if (migrations.length === 0) out.line('The database is up to date.')
  else out.line(mode === 'plan' ? 'Pending migrations:' : 'Applied migrations:')
  for (const step of steps) {
    out.line(`  ${step.name}`, dim(step.ms === null ? '' : `  ${step.ms} ms`))
    for (const line of lockLines(step)) out.line(dim(`    ${line}`))
  }
  if (mode === 'plan' && migrations.length > 0)
    out.note(
      dim('A lock lasts until its migration has ended. To measure that, restore a backup elsewhere: docs/backup.md'),
    )
  return exitCodes.ok
}

/** Returns what waits for a migration, and in which tables. */
function lockLines({ locks }: MigrationStep): string[] {
  if (locks.length === 0) return ['locks no existing table']
  return locks.map(({ table, mode, blocks }) => `locks ${table} (${mode}): ${blocks} wait`)
}
