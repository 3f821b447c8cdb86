import { exitCodes } from './exit-codes.ts'
import { CommandFailed } from './failures.ts'
import type { Out } from './out.ts'
import type { World } from './world.ts'

type Inputs = Pick<World, 'env' | 'stdin'>

/**
 * Returns the value of an environment variable. Secrets are not arguments, because other users can read the process
 * list.
 */
export function secretOfVariable({ env }: Pick<World, 'env'>, name: string): string {
  const value = env[name]?.trim()
  if (value) return value
  throw new CommandFailed(`environment variable ${name} is not set or empty`, exitCodes.usage)
}

/** Reads a secret from a variable, or all of standard input. */
export async function secretOf({ env, stdin }: Inputs, variable: string | undefined, out: Out): Promise<string> {
  if (variable !== undefined) return secretOfVariable({ env }, variable)
  if (stdin.isTerminal) out.note('Paste the key and press Ctrl-D. It is visible; use --from-env <name> to avoid that.')
  return checked(await stdin.read())
}

/** Reads a one-line key from a variable, a hidden prompt, or all of standard input. */
export async function hiddenSecretOf({ env, stdin }: Inputs, variable: string | undefined, out: Out): Promise<string> {
  if (variable !== undefined) return secretOfVariable({ env }, variable)
  if (!stdin.readHidden) return checked(await stdin.read())
  out.note('Paste the key and press Enter. It is not shown.')
  return checked(await stdin.readHidden())
}

function checked(input: string): string {
  const value = input.trim()
  if (value !== '') return value
  throw new CommandFailed('no key on standard input; send the key there, or use --from-env <name>', exitCodes.usage)
}
