import type { KeyReport, SecretsReport } from '../server/rotation.ts'
import { type ExitCode, exitCodes } from './exit-codes.ts'
import { CommandFailed } from './failures.ts'
import type { LocalService, ServerInputs } from './local-service.ts'
import { dim, type Out, plain } from './out.ts'

interface SecretsArguments extends ServerInputs {
  /** What to do before the report. */
  readonly task: 'status' | 'reseal' | { readonly forget: string }
}

/**
 * `secrets status`, `reseal` and `forget`: shows how many values each encryption key encrypts, and which can be
 * removed.
 */
export async function secrets(server: LocalService, args: SecretsArguments, out: Out): Promise<ExitCode> {
  const { env, overrides, task } = args
  const config = await server.configure({ env, overrides })
  if (task === 'status') return show(await server.secrets.status(config), out)
  if (task === 'reseal') {
    const done = await server.secrets.reseal(config)
    out.line(`${counted(done.resealed)} re-encrypted.`)
    return show(done, out)
  }
  const done = await server.secrets.forget(config, task.forget)
  if (done.forgotten === 0) throw new CommandFailed(`no stored value uses encryption key ${task.forget}`)
  out.line(`${counted(done.forgotten)} deleted.`)
  return show(done, out)
}

/** Prints the report. Returns exit code 1 when a key is missing. */
function show(report: SecretsReport, out: Out): ExitCode {
  out.data(report)
  if (report.keys.length === 0) out.line('No encryption key yet; the first start generates one.')
  for (const key of report.keys) out.line(key.key_id, '  ', stateOf(key), dim(detailOf(key)))
  return report.keys.some(({ state }) => state === 'missing') ? exitCodes.failed : exitCodes.ok
}

function stateOf({ state, rows }: KeyReport) {
  switch (state) {
    case 'seals':
      return plain('encrypts new values')
    case 'opens':
      return rows > 0
        ? { text: 'decrypts older values; still needed', tone: 'warning' as const }
        : { text: 'no stored value uses this key; it can be removed', tone: 'good' as const }
    case 'missing':
      return { text: 'missing; configure it again, or delete its values with "secrets forget"', tone: 'bad' as const }
  }
}

function detailOf({ rows, tables }: KeyReport): string {
  const parts = Object.entries(tables).map(([table, count]) => `${table} ${count}`)
  return `  ${counted(rows)}${parts.length > 0 ? ` (${parts.join(', ')})` : ''}`
}

const counted = (rows: number): string => `${rows} ${rows === 1 ? 'value' : 'values'}`
