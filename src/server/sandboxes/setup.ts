import { createHash } from 'node:crypto'
import { AppError } from '../platform/errors.ts'
import { shellQuoted } from '../platform/shell-quoted.ts'
import type { ExecResult } from './sandbox.ts'

/** Time for all set-up commands of an agent. */
export const setupMs = 600_000

/** What a set-up depends on. Owners share no results, because a result may depend on who ran it first. */
interface SetupFacts {
  readonly owner: string | null
  readonly image: string | undefined
  readonly commands: readonly string[]
  readonly network: unknown
}

/** Returns the digest that identifies the result of a set-up: 40 hex digits. */
export const setupDigest = ({ owner, image, commands, network }: SetupFacts): string =>
  createHash('sha256')
    .update(JSON.stringify([owner, image ?? null, commands, network ?? null]))
    .digest('hex')
    .slice(0, 40)

/** Returns a shell script that runs the commands in order and stops at the first that fails. */
export const setupScript = (commands: readonly string[]): string =>
  commands
    .map((command, at) => {
      const failed = `{ code=$?; echo "command ${at + 1} of ${commands.length} ended with exit code $code"; exit $code; }`
      return `"\${BASH:-sh}" -c ${shellQuoted(command)} || ${failed}`
    })
    .join('\n')

const maxShownOutput = 2_000

/** The set-up of an agent's sandbox failed: its runs cannot start. `message` ends with the output of the command. */
export class SetupFailed extends AppError {
  constructor({ outcome, output }: Pick<ExecResult, 'outcome' | 'output'>) {
    const reasons: Partial<Record<ExecResult['outcome'], string>> = {
      timed_out: `did not end within ${setupMs / 60_000} minutes`,
      cancelled: 'was cancelled',
      output_limit: 'wrote too much output',
      disk_limit: 'filled the disk',
    }
    const end = output.trim().slice(-maxShownOutput)
    const reason = `config.sandbox.setup ${reasons[outcome] ?? 'failed'}`
    super('unavailable', end === '' ? reason : `${reason}; the end of its output: ${end}`)
    this.name = 'SetupFailed'
  }
}

/** Throws `SetupFailed` unless the set-up ended with exit code 0. */
export function checkSetup(result: Pick<ExecResult, 'outcome' | 'exitCode' | 'output'>): void {
  if (result.outcome !== 'exited' || result.exitCode !== 0) throw new SetupFailed(result)
}
