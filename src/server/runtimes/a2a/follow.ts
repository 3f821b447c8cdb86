import { createBackoff } from '../remote/backoff.ts'
import { type Batch, isFailureWithStatus, RuntimeFailure } from '../runtime.ts'
import { isFailureOf } from './protocol-errors.ts'
import { type A2aRun, isRetryable, mustLeave, withRetries } from './run.ts'
import { takeUpdates } from './updates.ts'

/**
 * Follows the task until it ends or asks: by its stream, over as many as needed, or by reading it in growing intervals. Returns without
 * a last event when the run must be left. Rejects with `RuntimeFailure`.
 */
export async function* follow(run: A2aRun): AsyncGenerator<Batch> {
  const { agent, context, notes, wait } = run
  const backoff = createBackoff({ wait, signal: context.signal })
  const { task: id = '' } = notes.state
  let canSubscribe = agent.isStreaming
  while (!mustLeave(context)) {
    const task = await withRetries(run, () => agent.api.get(id, context.signal)).catch(asDeleted)
    if (yield* takeUpdates(run, [{ kind: 'task', task }])) return
    if (canSubscribe) {
      const end = yield* readStream(run, id)
      if (end === 'over') return
      canSubscribe = end !== 'rejected'
      if (end === 'moved') backoff.reset()
    }
    if (!mustLeave(context)) await backoff.wait()
  }
}

type StreamEnd = 'over' | 'moved' | 'still' | 'rejected'

/** Reads one stream to its end. */
async function* readStream(run: A2aRun, id: string): AsyncGenerator<Batch, StreamEnd> {
  const { agent, context } = run
  let end: StreamEnd = 'still'
  try {
    const batches = takeUpdates(run, agent.api.subscribe(id, context.signal))
    for (let next = await batches.next(); ; next = await batches.next()) {
      if (next.done) return next.value ? 'over' : end
      end = 'moved'
      yield next.value
    }
  } catch (failure) {
    if (context.signal.aborted) return end
    if (!(failure instanceof RuntimeFailure)) throw failure
    if (isRejection(failure)) return 'rejected'
    if (!isRetryable(failure)) throw failure
    return end
  }
}

/** Also the answer for a task that has ended since, which is then read. */
const isRejection = ({ code = '', status = 0 }: RuntimeFailure): boolean =>
  code === 'UNSUPPORTED_OPERATION' || code === 'METHOD_NOT_FOUND' || [400, 404, 405, 409, 501].includes(status)

function asDeleted(failure: unknown): never {
  if (isFailureOf(failure, 'TASK_NOT_FOUND') || isFailureWithStatus(failure, 404))
    throw new RuntimeFailure('model_request_failed_error', 'the task was deleted at the agent', { status: 404 })
  throw failure
}
