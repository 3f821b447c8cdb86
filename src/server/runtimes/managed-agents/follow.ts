import { newId } from '../../platform/ids.ts'
import { nonEmptyText } from '../../platform/json.ts'
import { type Batch, RuntimeFailure } from '../runtime.ts'
import { type AttachmentEvent, attach } from './attachment.ts'
import { createBackoff, type Wait } from './backoff.ts'
import type { Call } from './log-index.ts'
import { type Leave, takeDeferred, takeListed, takeStreamed } from './take.ts'
import type { Answer, Turn } from './turn.ts'

const maxBatch = 100
/** Maximum wait for the end of an earlier, interrupted turn. */
const settleMs = 5_000

/** Sends the prompt, unless it was sent, and follows its turn to the end. Dialects: section 1.9. */
export async function* follow(turn: Turn, wait: Wait): AsyncGenerator<Batch> {
  const backoff = createBackoff(turn.context, wait)
  while (mayContinue(turn)) {
    if (turn.logIndex.awaitingApproval.length > 0 && !(await awaitDecisions(turn))) return
    const { appendedCount } = turn
    const { leave, failure } = yield* attached(turn)
    // Accepted events are stored however the attachment ended: they are not read again.
    yield* turn.flush()
    if (leave === 'over') return
    if (turn.appendedCount > appendedCount) backoff.reset()
    if (failure && !turn.isAttached) await backoff.afterFailure(failure)
    else if (leave !== 'asks') await backoff.afterStream(failure)
  }
}

const mayContinue = ({ context }: Turn): boolean => !context.signal.aborted && !context.isDraining()

/** How an attachment ended: detached by us, failed, or closed by the server. */
interface Detached {
  readonly leave?: Leave | undefined
  readonly failure?: RuntimeFailure
}

async function* attached(turn: Turn): AsyncGenerator<Batch, Detached> {
  const { api, sessionId, since, context } = turn
  turn.beginAttachment()
  try {
    for await (const received of attach(api, { sessionId, since, signal: context.signal })) {
      if (!mayContinue(turn)) return {}
      const leave = yield* handle(turn, received)
      if (leave) return { leave }
    }
    return {}
  } catch (error) {
    if (error instanceof RuntimeFailure) return { failure: error }
    throw error
  }
}

async function* handle(turn: Turn, received: AttachmentEvent): AsyncGenerator<Batch, Leave | undefined> {
  if (received.from === 'list') {
    const leave = takeListed(turn, received.event)
    if (turn.pendingCount >= maxBatch) yield* turn.flush()
    return leave
  }
  if (received.from === 'listed') turn.isListed = true
  const leave = received.from === 'stream' ? takeStreamed(turn, received.event) : takeDeferred(turn)
  if (leave) return leave
  yield* turn.flush()
  yield* sendPending(turn)
  turn.isAttached = true
  return undefined
}

/** Sends our message, the decisions of people, and error results for client-side tools. */
async function* sendPending(turn: Turn): AsyncGenerator<Batch> {
  if (!turn.isSent) {
    if (await isSettling(turn)) return
    await sendMessage(turn)
  }
  await turn.saveFoundMessage()
  await rejectCustomCalls(turn)
  if (turn.answers.length === 0) return
  const due = turn.answers.filter(({ call }) => !isAnswered(turn, call))
  if (due.length > 0)
    await turn.api.send(
      turn.sessionId,
      due.map(({ event }) => event),
    )
  turn.answers = []
  // The log may show it already, if an earlier answer arrived although its response was lost.
  if (!turn.logIndex.isRunning) turn.append({ id: newId('evt'), type: 'session.status_running' }, undefined)
  yield* turn.flush()
}

/** Interrupts an earlier turn that is still running, and returns true while ours has to wait for its end. */
async function isSettling(turn: Turn): Promise<boolean> {
  if (!turn.isBusy) return false
  const now = performance.now()
  if (turn.settleUntil === undefined) {
    turn.settleUntil = now + settleMs
    await turn.api.send(turn.sessionId, [{ type: 'user.interrupt' }])
  }
  return now < turn.settleUntil
}

/**
 * Sends the message. Its place in the list is stored first, so that it is searched only after that place after a crash.
 */
async function sendMessage(turn: Turn): Promise<void> {
  const unsent = { prompt_id: turn.prompt.id, before: turn.lastId ?? null, is_sent: false, message_id: null }
  await turn.saveSentMessage(unsent)
  const stored = await turn.api.send(turn.sessionId, [turn.message])
  turn.isPast = true
  const message_id = nonEmptyText(stored.find(({ type }) => type === 'user.message')?.['id']) ?? null
  await turn.saveSentMessage({ ...unsent, is_sent: true, message_id })
}

/** Returns an error for calls of `custom` tools, which run in a client of the provider. */
async function rejectCustomCalls(turn: Turn): Promise<void> {
  for (const id of turn.customCalls) {
    if (turn.answered.has(id)) continue
    turn.answered.add(id)
    const content = [{ type: 'text', text: 'no client is connected that can run this tool' }]
    const result = { type: 'user.custom_tool_result', custom_tool_use_id: id, content, is_error: true }
    await turn.api.send(turn.sessionId, [result])
  }
}

const isAnswered = ({ answered }: Turn, { sourceId, toolUseId }: Call): boolean =>
  answered.has(toolUseId) || (sourceId !== undefined && answered.has(sourceId))

/** Waits for the decisions about all open questions; returns false when the run must end first. */
async function awaitDecisions(turn: Turn): Promise<boolean> {
  const answers: Answer[] = []
  for (const call of turn.logIndex.awaitingApproval) {
    const decision = await turn.context.decision(call.id)
    if (!decision) return false
    const { result, message } = decision
    const why = result === 'deny' && message !== undefined ? { deny_message: message } : {}
    const tool_use_id = call.sourceId ?? call.toolUseId
    answers.push({ call, event: { type: 'user.tool_confirmation', tool_use_id, result, ...why } })
  }
  turn.answers = answers
  return true
}
