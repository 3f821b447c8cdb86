import type { A2aReason } from '../../contract/a2a-errors.ts'
import { AppError } from '../platform/errors.ts'

/** Returns an error that A2A defines. `facts` are the metadata of its details. */
export const a2aFailure = (reason: A2aReason, message: string, facts: Readonly<Record<string, string>> = {}) =>
  new AppError(reason === 'TASK_NOT_FOUND' ? 'not_found' : 'invalid_request', message, { fields: { reason, ...facts } })

export const taskNotFound = (id: string): AppError =>
  a2aFailure('TASK_NOT_FOUND', `task ${id} not found`, { taskId: id })

/** Rejects with an error of A2A where a rule of sessions or agents does not allow the operation now. */
export async function asAllowed<T>(
  work: () => Promise<T>,
  reason: A2aReason = 'UNSUPPORTED_OPERATION',
  messageOf: (error: AppError) => string = ({ message }) => message,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof AppError && error.code === 'conflict') throw a2aFailure(reason, messageOf(error))
    throw error
  }
}
