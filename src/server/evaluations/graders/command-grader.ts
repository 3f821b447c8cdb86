import type { GraderOf } from '../../../contract/graders.ts'
import { AppError } from '../../platform/errors.ts'
import type { ExecResult } from '../../sandboxes/sandbox.ts'
import { failed, type Graded, GraderError, passed, type Verdict } from './graded.ts'

/** A command for the workspace of a session that has ended. */
export interface SessionCommand {
  readonly sessionId: string
  readonly command: string
  readonly timeoutMs: number
  /** Content of the file that `$ANSWER_FILE` names. */
  readonly answer: string
  readonly signal: AbortSignal
}

/** Runs a command in the sandbox of a session. Errors: `unavailable` and others with a message for the owner. */
export type RunInSession = (command: SessionCommand) => Promise<ExecResult>

const defaultSeconds = 60
const maxReason = 1_000

/** Runs the command; exit code 0 passes. */
export async function gradeCommand(
  { command, timeout_seconds: seconds = defaultSeconds }: GraderOf<'command'>,
  { sessionId, answer, signal }: Graded,
  run: RunInSession,
): Promise<Verdict> {
  const result = await run({ sessionId, command, timeoutMs: seconds * 1_000, answer, signal }).catch(
    (error: unknown) => {
      if (error instanceof AppError && error.code !== 'internal') throw new GraderError(error.message, { cause: error })
      throw error
    },
  )
  switch (result.outcome) {
    case 'exited':
      if (result.exitCode === 0) return passed
      return failed(`exit code ${result.exitCode}: ${endOf(result.output)}`.slice(0, maxReason))
    case 'timed_out':
      throw new GraderError(`the command did not end within ${seconds} s`)
    case 'output_limit':
      throw new GraderError(`the command was stopped after ${result.outputBytes} bytes of output`)
    case 'disk_limit':
      throw new GraderError('the command was stopped because it filled the disk')
    case 'cancelled':
      throw new GraderError('the command was cancelled')
  }
}

/** The reason of a failure is usually at the end. */
const endOf = (output: string): string =>
  output
    .trim()
    .slice(-(maxReason - 50))
    .toWellFormed()
    .replaceAll('\0', '\u{fffd}')
