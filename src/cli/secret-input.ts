import { exitCodes } from './exit-codes.ts'
import { CommandFailed } from './failures.ts'
import type { Out } from './out.ts'
import type { World } from './world.ts'

type Inputs = Pick<World, 'env' | 'stdin'>

/** The value of a variable that the user named, for secrets: on a command line everybody on the machine can read them. */
export function secretOfVariable({ env }: Pick<World, 'env'>, name: string): string {
  const value = env[name]?.trim()
  if (value) return value
  throw new CommandFailed(`The variable ${name} is not set, or it is empty.`, exitCodes.usage)
}

/** A secret from a variable, or all that standard input holds. */
export async function secretOf({ env, stdin }: Inputs, variable: string | undefined, out: Out): Promise<string> {
  if (variable !== undefined) return secretOfVariable({ env }, variable)
  if (stdin.isTerminal)
    out.note('Paste the key and end with Ctrl-D. It is shown; to avoid that, use --from-env <name>.')
  return checked(await stdin.read())
}

/** A key of one line: from a variable, asked for without showing it, or all that standard input holds. */
export async function hiddenSecretOf({ env, stdin }: Inputs, variable: string | undefined, out: Out): Promise<string> {
  if (variable !== undefined) return secretOfVariable({ env }, variable)
  if (!stdin.readHidden) return checked(await stdin.read())
  out.note('Paste the key and press Enter. It is not shown.')
  return checked(await stdin.readHidden())
}

function checked(input: string): string {
  const value = input.trim()
  if (value !== '') return value
  throw new CommandFailed(
    'There was no key on standard input. Send it there, or name the variable that holds it: --from-env <name>.',
    exitCodes.usage,
  )
}
