import { type RunPrompt, RuntimeFailure } from '../runtime.ts'

/** Prompts that lead to each other over A2A, from service to service. */
const maxHops = 5

const pattern = /^switchyard-(\d{1,3})-/

/**
 * Returns the id of a prompt's message, the same on every try. It counts how many agents of A2A have passed the request on: a service
 * that serves an agent of A2A stores the id of the message with its prompt. Throws `RuntimeFailure` when there are too many.
 */
export function messageIdOf({ id, message_id }: Pick<RunPrompt, 'id' | 'message_id'>): string {
  const hops = Number(pattern.exec(message_id ?? '')?.[1] ?? 0) + 1
  if (hops > maxHops)
    throw new RuntimeFailure(
      'model_request_failed_error',
      `the request passed ${maxHops} agents of A2A in a row; agents that call each other form a loop`,
      { status: 400 },
    )
  return `switchyard-${hops}-${id}`
}
