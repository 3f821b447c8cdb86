import { exitCodes } from './exit-codes.ts'
import { CommandFailed } from './failures.ts'
import type { Out } from './out.ts'
import type { Registry, Work, World } from './world.ts'

/** Options of a command that destroys something. */
export interface ConfirmOptions {
  readonly yes?: boolean
}

interface Confirmation {
  /** What happens, such as `delete schedule "nightly" with its history`. */
  readonly action: string
  /** Name that the person must type. */
  readonly name: string
  readonly isYes: boolean | undefined
}

/** Asks the person to type the name of what is destroyed, unless `--yes` was given. Throws without a terminal. */
export async function confirm({ stdin }: Pick<World, 'stdin'>, confirmation: Confirmation, out: Out): Promise<void> {
  const { action, name, isYes } = confirmation
  if (isYes) return
  if (out.isJson || !stdin.isTerminal || !stdin.readLine)
    throw new CommandFailed(`not confirmed: ${action}; pass --yes`, exitCodes.usage)
  out.note(`About to ${action}. This cannot be undone.`)
  out.note(`Type ${name} to confirm:`)
  if ((await stdin.readLine()).trim() !== name)
    throw new CommandFailed('cancelled: the name does not match', exitCodes.interrupted)
}

/** Returns the action of a command that destroys something: like `doing`, after a confirmation. */
export const destroying = (
  { doing, world }: Registry,
  actionOf: (args: readonly string[]) => string,
  work: Work<ConfirmOptions>,
) =>
  doing<ConfirmOptions>(async (tools, options, args) => {
    await confirm(world, { action: actionOf(args), name: tools.given.at(-1) ?? '', isYes: options.yes }, tools.out)
    return work(tools, options, args)
  })

/** Option of commands that destroy something. */
export const yesOption = ['--yes', 'do not ask for confirmation'] as const
