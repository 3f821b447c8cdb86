import type { RestoreReport } from '../server/restore.ts'
import { counted, printContent, stoppable } from './backup.ts'
import { findingLines, integrityFinding } from './doctor.ts'
import { type ExitCode, exitCodes } from './exit-codes.ts'
import type { LocalService, ServerInputs } from './local-service.ts'
import type { Out } from './out.ts'
import { passphraseOf } from './passphrase.ts'

interface RestoreArguments extends ServerInputs {
  readonly path: string
  readonly passphraseFile: string | undefined
  readonly replaces: boolean
  /** True: only checks the file. */
  readonly isCheck: boolean
  /** Interrupts the restore, or the check. */
  readonly stop: AbortSignal
}

/** `restore`: restores a backup and prints what is there now. Exit code 1 when the restored data breaks a rule. */
export async function restore(server: LocalService, args: RestoreArguments, out: Out): Promise<ExitCode> {
  const { env, overrides, path, passphraseFile, replaces, isCheck, stop } = args
  const passphrase = await passphraseOf({ env }, passphraseFile)
  if (isCheck) {
    const content = await stoppable(stop, () => server.backups.check({ path, passphrase, stop }))
    out.data(content)
    out.line(`${path} is complete and undamaged.`)
    printContent(content, out)
    return exitCodes.ok
  }
  const config = await server.configure({ env, overrides })
  const options = { path, passphrase, replaces, stop }
  const report = await stoppable(stop, () => server.backups.restore(config, options))
  out.data(report)
  out.line(`Restored ${path} into the ${report.database} database.`)
  printContent(report, out)
  for (const line of remarks(report)) out.line(`  ${line}`)
  const findings = report.integrity.map(integrityFinding)
  for (const line of findings.flatMap(findingLines)) out.line(...line)
  return findings.some(({ state }) => state === 'fail') ? exitCodes.failed : exitCodes.ok
}

const skippedOf = (noun: string, count: number): string[] =>
  count > 0 ? [`${counted(count, noun)} due between backup and restore: these ticks are skipped`] : []

/** What happens at the next start. */
function remarks(report: RestoreReport): string[] {
  const { migrations, runs, waiting_prompts, missing_key_ids, has_written_keys } = report
  const missing = missing_key_ids.join(', ')
  return [
    ...(migrations.length > 0 ? [`applied ${counted(migrations.length, 'newer migration')}`] : []),
    ...(runs > 0 ? [`${counted(runs, 'run')} in flight: the next start resumes them as after a crash`] : []),
    ...(waiting_prompts > 0 ? [`${counted(waiting_prompts, 'prompt')} waiting: they run after the next start`] : []),
    ...skippedOf('schedule', report.skipped_schedules),
    ...skippedOf('deployment', report.skipped_deployments),
    ...(has_written_keys ? ['wrote the encryption keys of the backup into the data folder'] : []),
    ...(missing === ''
      ? []
      : [`set SWITCHYARD_ENCRYPTION_KEY to key ${missing} before the start: it is not given here`]),
  ]
}
