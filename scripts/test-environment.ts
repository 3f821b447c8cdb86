import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { lackVariable, type SystemProgram } from '../test/support/service/lack.ts'
import { withServiceBundle } from './service-bundle.ts'
import { variablesOf, withTestDatabase } from './test-database.ts'

const root = join(import.meta.dirname, '..')
/** Folders with packages of their own, which only tests need. */
const packages = ['clients', 'api-reference'].map(name => join(root, 'test', name))

/** Runs `work` with the variables of test processes, which name a database, a compiled service, and what this machine lacks. */
export async function withTestEnvironment<T>(
  lacking: readonly SystemProgram[],
  work: (env: NodeJS.ProcessEnv) => Promise<T>,
): Promise<T> {
  for (const folder of packages)
    execFileSync(process.execPath, [join(import.meta.dirname, 'install.mjs'), folder], { stdio: 'inherit' })
  return withServiceBundle(program =>
    withTestDatabase(database => {
      // A test that starts a server gives it its own database, so the caller's must not reach it.
      const { DATABASE_URL: _, ...env } = process.env
      return work({ ...env, ...program, ...variablesOf(database), [lackVariable]: lacking.join(' ') })
    }),
  )
}
