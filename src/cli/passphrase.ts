import { exitCodes } from './exit-codes.ts'
import { CommandFailed } from './failures.ts'
import { textOfFile } from './input-file.ts'
import type { World } from './world.ts'

/** Fewer characters are guessed too easily. */
const minLength = 12

/**
 * Returns the passphrase of a file, or of the environment; undefined when there is neither. It is never an argument,
 * because other users can read the process list.
 */
export async function passphraseOf({ env }: Pick<World, 'env'>, file: string | undefined): Promise<string | undefined> {
  if (file !== undefined) return checked((await textOfFile(file, 'passphrase file')).replace(/\r?\n$/, ''), file)
  const given = env['SWITCHYARD_BACKUP_PASSPHRASE']
  return given ? checked(given, 'SWITCHYARD_BACKUP_PASSPHRASE') : undefined
}

function checked(passphrase: string, place: string): string {
  if (passphrase.length >= minLength) return passphrase
  throw new CommandFailed(`passphrase in ${place} is shorter than ${minLength} characters`, exitCodes.usage)
}
