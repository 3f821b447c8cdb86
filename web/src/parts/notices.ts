import { notifications } from '@mantine/notifications'
import { problemOf } from '../data/problem.ts'

/** Reports that an action without a form has failed, until the person closes it. `what`: `fork the session`. */
export function showProblem(what: string, error: unknown): void {
  const { message, nextStep, requestId } = problemOf(error)
  notifications.show({
    title: `Cannot ${what}`,
    message: `${message}. ${nextStep}${requestId === undefined ? '' : ` Request id ${requestId}`}`,
    color: 'red',
    autoClose: false,
  })
}
