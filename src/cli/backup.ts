import type { BackupReport } from '../server/backups.ts'
import type { ExitCode } from './exit-codes.ts'
import { exitCodes } from './exit-codes.ts'
import { CommandFailed } from './failures.ts'
import type { LocalService, ServerInputs } from './local-service.ts'
import { dim, type Out } from './out.ts'
import { passphraseOf } from './passphrase.ts'

interface BackupArguments extends ServerInputs {
  readonly path: string
  readonly passphraseFile: string | undefined
  readonly includesKeys: boolean
  /** Interrupts the backup. */
  readonly stop: AbortSignal
}

/** `backup`: writes a backup and prints what it contains. */
export async function backup(server: LocalService, args: BackupArguments, out: Out): Promise<ExitCode> {
  const { env, overrides, path, passphraseFile, includesKeys, stop } = args
  const passphrase = await passphraseOf({ env }, passphraseFile)
  if (includesKeys && passphrase === undefined) {
    throw new CommandFailed(
      '--include-keys needs a passphrase; set SWITCHYARD_BACKUP_PASSPHRASE or pass --passphrase-file <file>',
      exitCodes.usage,
    )
  }
  const config = await server.configure({ env, overrides })
  const report = await stoppable(stop, () => server.backups.make(config, { path, passphrase, includesKeys, stop }))
  out.data(report)
  out.line(`Wrote and checked ${report.file}.`)
  printContent(report, out)
  if (!report.is_encrypted) out.note('The file is not encrypted: it contains conversations in clear text.')
  return exitCodes.ok
}

/** Fails with the exit code of an interruption after `stop` has aborted. */
export async function stoppable<T>(stop: AbortSignal, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!stop.aborted || !(error instanceof Error)) throw error
    throw new CommandFailed(error.message, exitCodes.interrupted)
  }
}

/** Prints what a backup contains, and what it does not. */
export function printContent({ bytes, is_encrypted, manifest, tables }: BackupReport, out: Out): void {
  const rowsOf = (table: string): number => tables.find(({ name }) => name === table)?.rows ?? 0
  const rows = tables.reduce((sum, table) => sum + table.rows, 0)
  out.line(`  taken      ${manifest.created_at} by Switchyard ${manifest.version}, PostgreSQL ${manifest.postgres}`)
  out.line(`  content    ${counted(rowsOf('sessions'), 'session')}, ${counted(rowsOf('session_events'), 'event')}, `, {
    text: `${counted(rowsOf('agents'), 'agent')}, ${counted(rows, 'row')} in ${counted(tables.length, 'table')}`,
    tone: 'plain',
  })
  out.line(`  size       ${counted(bytes, 'byte')}, ${is_encrypted ? 'encrypted' : 'not encrypted'}`)
  const ids = manifest.encryption_key_ids
  const keys = ids.length === 0 ? 'no stored value is encrypted' : `stored values need encryption key ${ids.join(', ')}`
  out.line(
    `  keys       ${keys}${manifest.has_keys ? '; the file contains the keys' : ids.length > 0 ? '; keep it apart' : ''}`,
  )
  if (manifest.objects > 0)
    out.line(dim(`  not in it  ${counted(manifest.objects, 'piece')} of files in the object store; keep the bucket`))
}

/** Returns a number with its noun. */
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`
