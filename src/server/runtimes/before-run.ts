import { AppError } from '../platform/errors.ts'
import { isReplay } from '../tools/replay.ts'
import type { RunContext, RunPrompt, RunSession } from './runtime.ts'

/** True for a run whose tools work in the workspace. */
export const usesWorkspace = (
  { environment }: Pick<RunSession, 'environment'>,
  { kind }: Pick<RunPrompt, 'kind'>,
  { signal }: Pick<RunContext, 'signal'>,
): boolean => kind !== 'compact' && !isReplay(environment) && !signal.aborted

/** Returns the public message of an error, with which a run ends. Throws an error of the service itself. */
export function messageOf(error: unknown): string {
  if (error instanceof AppError && error.code !== 'internal') return error.message
  throw error
}
