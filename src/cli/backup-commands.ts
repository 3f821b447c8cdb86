import { Argument, type Command } from 'commander'
import { backup } from './backup.ts'
import { overridesOf, type ServerOptions, storageOptions } from './local-commands.ts'
import { someText } from './parse.ts'
import { restore } from './restore.ts'
import { type Registry, withExamples } from './world.ts'

interface PassphraseOptions extends ServerOptions {
  readonly passphraseFile?: string
}

/** Adds `backup` and `restore`. */
export function addBackupCommands(program: Command, registry: Registry): void {
  addBackup(program, registry)
  addRestore(program, registry)
}

const passphraseOption = (command: Command): Command =>
  command.option('--passphrase-file <file>', 'file with the passphrase of the backup (SWITCHYARD_BACKUP_PASSPHRASE)')

function addBackup(program: Command, { world, doing }: Registry): void {
  const { server, env, stop } = world
  const command = passphraseOption(storageOptions(program.command('backup')))
    .description('write a consistent copy of the database into one file and check it; the service may run meanwhile')
    .addArgument(new Argument('<path>', 'a new file, or a folder for a file named by the time').argParser(someText))
    .option('--include-keys', 'store the encryption keys too; needs a passphrase')
    .action(
      doing<PassphraseOptions & { includeKeys?: boolean }>(({ out }, options, [path = '']) => {
        const { passphraseFile, includeKeys: includesKeys = false } = options
        const inputs = { env, overrides: overridesOf(options), stop }
        return backup(server, { ...inputs, path, passphraseFile, includesKeys }, out)
      }),
    )
  withExamples(command, [
    'switchyard backup /var/backups',
    'switchyard backup today.backup --passphrase-file /etc/switchyard/passphrase --include-keys',
  ])
}

interface RestoreOptions extends PassphraseOptions {
  readonly replace?: boolean
  readonly check?: boolean
}

function addRestore(program: Command, { world, doing }: Registry): void {
  const { server, env, stop } = world
  const command = passphraseOption(storageOptions(program.command('restore')))
    .description('restore a backup into an empty database: the embedded one, or that of DATABASE_URL')
    .addArgument(new Argument('<file>', 'the backup').argParser(someText))
    .option('--replace', 'delete the content of a database that is not empty')
    .option('--check', 'only check the file and print what it contains')
    .action(
      doing<RestoreOptions>(({ out }, options, [path = '']) => {
        const { passphraseFile, replace: replaces = false, check: isCheck = false } = options
        const inputs = { env, overrides: overridesOf(options), stop }
        return restore(server, { ...inputs, path, passphraseFile, replaces, isCheck }, out)
      }),
    )
  withExamples(command, [
    'switchyard restore today.backup --check',
    'switchyard restore today.backup --data-dir ./restored',
    'DATABASE_URL=postgres://user@host/name switchyard restore today.backup',
  ])
}
