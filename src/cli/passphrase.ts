import { readFile } from 'node:fs/promises'
import { exitCodes } from './exit-codes.ts'
import { CommandFailed } from './failures.ts'
import type { World } from './world.ts'

/** Fewer characters are guessed too easily. */
const minLength = 12

/**
 * Returns the passphrase of a file, or of the environment; undefined when there is neither. It is never an argument,
 * because other users can read the process list.
 */
export async function passphraseOf({ env }: Pick<World, 'env'>, file: string | undefined): Promise<string | undefined> {
  if (file !== undefined) return checked(await textOf(file), file)
  const given = env['SWITCHYARD_BACKUP_PASSPHRASE']
  return given ? checked(given, 'SWITCHYARD_BACKUP_PASSPHRASE') : undefined
}

async function textOf(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new CommandFailed(`cannot read passphrase file ${file}: ${error.code ?? error.message}`, exitCodes.usage)
  })
  return text.replace(/\r?\n$/, '')
}

function checked(passphrase: string, place: string): string {
  if (passphrase.length >= minLength) return passphrase
  throw new CommandFailed(`passphrase in ${place} is shorter than ${minLength} characters`, exitCodes.usage)
}
