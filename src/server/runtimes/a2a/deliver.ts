import type { Json } from '../../platform/json.ts'
import { createBackoff } from '../remote/backoff.ts'
import { type Batch, isFailureWithStatus, RuntimeFailure } from '../runtime.ts'
import { messageIdOf } from './hops.ts'
import { openTaskOf } from './notes.ts'
import { type AgentTask, isAsking } from './objects.ts'
import { partsOfPrompt } from './parts.ts'
import { isFailureOf } from './protocol-errors.ts'
import { type A2aRun, isRetryable, mustLeave, secondSearchMs, tryToCancel, withRetries } from './run.ts'
import { isForAuthorization, questionOf, takeUpdates } from './updates.ts'

/** Tries to send one message. */
const maxTries = 5

/**
 * Sends the prompt, unless the agent has it already. Returns true once the run is over, false when its task has to be followed. The
 * intent is stored before the message is sent; after a lost answer the agent's tasks show whether it arrived. Rejects with
 * `RuntimeFailure`.
 */
export async function* deliver(run: A2aRun): AsyncGenerator<Batch, boolean> {
  const { notes, prompt, context, wait } = run
  const isResumed = notes.state.prompt === prompt.id
  if (isResumed && notes.state.task !== undefined) return false
  if (!isResumed) await begin(run)
  const content = await contentOf(run)
  const backoff = createBackoff({ wait, signal: context.signal })
  let mayHaveArrived = isResumed
  for (let tries = 1; !mustLeave(context); tries++) {
    const found = mayHaveArrived ? await withRetries(run, () => arrivedTask(run, content.messageId)) : undefined
    if (found) return yield* takeUpdates(run, [{ kind: 'task', task: found }])
    const sent = yield* trySend(run, content)
    if (typeof sent === 'boolean') return sent
    mayHaveArrived ||= mayArrive(sent)
    if (await leavesQuestion(run, sent)) continue
    if (!isRetryable(sent) || tries === maxTries || !(await backoff.wait(sent.retryAfterMs))) throw sent
  }
  return false
}

/** Sends the message once. Returns true once the run is over, false when its task is known or the run must be left. */
async function* trySend(run: A2aRun, content: Content): AsyncGenerator<Batch, boolean | RuntimeFailure> {
  try {
    return yield* send(run, content)
  } catch (failure) {
    if (run.context.signal.aborted) return false
    if (!(failure instanceof RuntimeFailure)) throw failure
    // The task is known, so that only its stream was lost.
    return isRetryable(failure) && run.notes.state.task !== undefined ? false : failure
  }
}

/** Stores which prompt is sent next, after it has cancelled a task that was left running. */
async function begin(run: A2aRun): Promise<void> {
  const { notes, prompt, agent } = run
  const { task, question, is_over } = notes.state
  const open = openTaskOf(notes.state)
  const asking = open !== undefined && question !== undefined ? await askingTask(run, open) : undefined
  if (task !== undefined && !is_over) await tryToCancel(agent, task)
  const answer = asking && { continues: asking.id, question: questionOf(asking.status) }
  const initial = { task: undefined, continues: undefined, question: undefined, is_over: false, is_cancelled: false }
  await notes.write({ state: { ...initial, ...answer, prompt: prompt.id } })
}

/** Returns the task if it still asks: a client elsewhere may have answered it. */
async function askingTask(run: A2aRun, id: string): Promise<AgentTask | undefined> {
  try {
    const task = await withRetries(run, () => run.agent.api.get(id, run.context.signal))
    return isAsking(task.status) ? task : undefined
  } catch (failure) {
    if (isFailureWithStatus(failure, 404) || isFailureOf(failure, 'TASK_NOT_FOUND')) return undefined
    throw failure
  }
}

interface Content {
  readonly messageId: string
  readonly role: 'ROLE_USER'
  readonly parts: readonly Json[]
}

/** Returns the message without its context and task, which may become known later. */
async function contentOf(run: A2aRun): Promise<Content> {
  const { session, prompt, context, notes, memories } = run
  const isFirst = notes.contextId === undefined
  const parts = await partsOfPrompt({
    session,
    prompt,
    memories: isFirst ? await memories(session) : '',
    isFirst,
    fileContent: context.fileContent,
  })
  return { messageId: messageIdOf(prompt), role: 'ROLE_USER', parts }
}

async function* send(run: A2aRun, content: Content): AsyncGenerator<Batch, boolean> {
  const { agent, notes, context } = run
  const { contextId } = notes
  const { continues } = notes.state
  const message = {
    ...content,
    ...(contextId !== undefined && { contextId }),
    ...(continues !== undefined && { taskId: continues }),
  }
  const updates = agent.isStreaming
    ? agent.api.sendStreaming(message, context.signal)
    : [await agent.api.send(message, context.signal)]
  const isOver = yield* takeUpdates(run, updates)
  if (!isOver && notes.state.task === undefined && !mustLeave(context))
    throw new RuntimeFailure('model_request_failed_error', 'the agent closed its stream without an answer')
  return isOver
}

/** Reports whether a message may have arrived although its call failed: not when the agent has rejected it. */
function mayArrive({ status = 500 }: RuntimeFailure): boolean {
  return status >= 500 && status !== 503 && status !== 529
}

/**
 * Some agents take no message to a task that waits for an authorization: the prompt then starts another task of the context.
 */
async function leavesQuestion({ notes }: A2aRun, failure: unknown): Promise<boolean> {
  const { continues, question } = notes.state
  if (continues === undefined || !isForAuthorization(question) || !isFailureOf(failure, 'UNSUPPORTED_OPERATION'))
    return false
  await notes.write({ state: { continues: undefined, question: undefined } })
  return true
}

/** Returns the task that has the message; undefined when the agent does not have it. Rejects when that cannot be told. */
async function arrivedTask(run: A2aRun, messageId: string): Promise<AgentTask | undefined> {
  const { agent, notes, context, wait } = run
  const { continues, question, answers_directly } = notes.state
  if (continues !== undefined) {
    const task = await agent.api.get(continues, context.signal)
    const isSame = isAsking(task.status) && questionOf(task.status) === question
    return isSame && task.history.every(({ id }) => id !== messageId) ? undefined : task
  }
  if (answers_directly) throw unknownArrival('the agent makes no tasks that could be searched')
  const look = () => agent.api.taskOfMessage(messageId, notes.contextId, context.signal)
  try {
    const found = await look()
    if (found || context.signal.aborted) return found
    await wait(secondSearchMs, context.signal)
    return await look()
  } catch (failure) {
    if (isRetryable(failure) || !(failure instanceof RuntimeFailure) || failure.status === 401) throw failure
    throw unknownArrival(`the agent cannot list its tasks (${failure.message})`)
  }
}

const unknownArrival = (why: string): RuntimeFailure =>
  new RuntimeFailure(
    'model_request_failed_error',
    `the connection was lost while the prompt was sent, and it is unknown whether the agent received it: ${why}; check there before you send it again`,
    { status: 409 },
  )
