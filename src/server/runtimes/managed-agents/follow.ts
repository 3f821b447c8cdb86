import { newId } from '../../platform/ids.ts'
import { nonEmptyText } from '../../platform/json.ts'
import { type Batch, RuntimeFailure } from '../runtime.ts'
import { type Arrival, attach } from './attachment.ts'
import type { Call } from './book.ts'
import { createPatience, type Wait } from './patience.ts'
import { type Leave, takeHeld, takeListed, takeStreamed } from './take.ts'
import type { Answer, Turn } from './turn.ts'

const maxBatch = 100
/** How long an earlier turn that was interrupted may take to end. */
const settleMs = 5_000

/** Sends the prompt unless it was sent, and follows its turn to the end. Dialects: section 1.9. */
export async function* follow(turn: Turn, wait: Wait): AsyncGenerator<Batch> {
  const patience = createPatience(turn.context, wait)
  while (mayGoOn(turn)) {
    if (turn.book.asked.length > 0 && !(await heardPeople(turn))) return
    const told = turn.told
    const { leave, failure } = yield* attached(turn)
    // Whatever was taken is stored, however the attachment ended: it is not looked at again.
    yield* turn.flush()
    if (leave === 'over') return
    if (turn.told > told) patience.heard()
    if (failure && !turn.isAttached) await patience.afterFailure(failure)
    else if (leave !== 'asks') await patience.afterStream(failure)
  }
}

const mayGoOn = ({ context }: Turn): boolean => !context.signal.aborted && !context.isDraining()

/** How an attachment ended: left by us, broken, or closed by the server. */
interface Detached {
  readonly leave?: Leave | undefined
  readonly failure?: RuntimeFailure
}

async function* attached(turn: Turn): AsyncGenerator<Batch, Detached> {
  const { api, sessionId, since, context } = turn
  turn.beginAttachment()
  try {
    for await (const arrival of attach(api, { sessionId, since, signal: context.signal })) {
      if (!mayGoOn(turn)) return {}
      const leave = yield* arrived(turn, arrival)
      if (leave) return { leave }
    }
    return {}
  } catch (error) {
    if (error instanceof RuntimeFailure) return { failure: error }
    throw error
  }
}

async function* arrived(turn: Turn, arrival: Arrival): AsyncGenerator<Batch, Leave | undefined> {
  if (arrival.from === 'list') {
    const leave = takeListed(turn, arrival.event)
    if (turn.pendingCount >= maxBatch) yield* turn.flush()
    return leave
  }
  if (arrival.from === 'listed') turn.isListed = true
  const leave = arrival.from === 'stream' ? takeStreamed(turn, arrival.event) : takeHeld(turn)
  if (leave) return leave
  yield* turn.flush()
  yield* sendWhatIsDue(turn)
  turn.isAttached = true
  return undefined
}

/** Sends our message, what people said, and that nobody runs tools of clients. */
async function* sendWhatIsDue(turn: Turn): AsyncGenerator<Batch> {
  if (!turn.isSent) {
    if (await isSettling(turn)) return
    await sendMessage(turn)
  }
  await turn.rememberFound()
  await refuseCustomCalls(turn)
  if (turn.answers.length === 0) return
  const due = turn.answers.filter(({ call }) => !isAnswered(turn, call))
  if (due.length > 0)
    await turn.api.send(
      turn.sessionId,
      due.map(({ event }) => event),
    )
  turn.answers = []
  // The list may have told it already, when an answer of ours arrived whose receipt was lost.
  if (!turn.book.isRunning) turn.tell({ id: newId('evt'), type: 'session.status_running' }, undefined)
  yield* turn.flush()
}

/** An earlier turn that still goes on was cut off here: it is stopped, and may end before ours begins. */
async function isSettling(turn: Turn): Promise<boolean> {
  if (!turn.isBusy) return false
  const now = performance.now()
  if (turn.settleUntil === undefined) {
    turn.settleUntil = now + settleMs
    await turn.api.send(turn.sessionId, [{ type: 'user.interrupt' }])
  }
  return now < turn.settleUntil
}

/** What is about to be sent is stored before, so that after a crash the list is searched behind that place alone. */
async function sendMessage(turn: Turn): Promise<void> {
  const unsent = { prompt_id: turn.prompt.id, before: turn.lastId ?? null, is_sent: false, message_id: null }
  await turn.rememberSent(unsent)
  const stored = await turn.api.send(turn.sessionId, [turn.message])
  turn.isPast = true
  const message_id = nonEmptyText(stored.find(({ type }) => type === 'user.message')?.['id']) ?? null
  await turn.rememberSent({ ...unsent, is_sent: true, message_id })
}

/** A tool of the kind `custom` runs at a client over there; ours have no way to. */
async function refuseCustomCalls(turn: Turn): Promise<void> {
  for (const id of turn.customCalls) {
    if (turn.answered.has(id)) continue
    turn.answered.add(id)
    const content = [{ type: 'text', text: 'nobody is there to run this tool' }]
    const result = { type: 'user.custom_tool_result', custom_tool_use_id: id, content, is_error: true }
    await turn.api.send(turn.sessionId, [result])
  }
}

const isAnswered = ({ answered }: Turn, { sourceId, toolUseId }: Call): boolean =>
  answered.has(toolUseId) || (sourceId !== undefined && answered.has(sourceId))

/** Waits for all that people are asked; false when the run has to end before. */
async function heardPeople(turn: Turn): Promise<boolean> {
  const answers: Answer[] = []
  for (const call of turn.book.asked) {
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
