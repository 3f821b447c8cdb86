import type { NewEvent } from '../../../contract/events.ts'
import { isRecord, type Json, textOf } from '../../platform/json.ts'
import { type Batch, failed, RuntimeFailure } from '../runtime.ts'
import type { ListedMessage } from './api.ts'
import { endingOf } from './ending.ts'
import { modelOf } from './model.ts'
import { requestApproval } from './permissions.ts'
import { ownMessage, promptBody } from './prompt.ts'
import { hasEnded } from './transcript.ts'
import { refsOf, sessionIdOf, store, type Turn } from './turn.ts'

/** Number and interval of the searches for a prompt that an earlier owner may have sent. */
const maxSearches = 5
const pollMs = 1_000

/** Sends the prompt, unless an earlier owner did. A prompt is never sent twice. */
export async function deliver(turn: Turn): Promise<void> {
  const { progress, context } = turn
  if (progress.state && !progress.isUnsent) {
    progress.messageId ??= await findSentPrompt(turn)
    if (progress.messageId !== undefined) {
      // Events before the stream was open are in the list only.
      Object.assign(progress, { isSent: true, isDue: true })
      return
    }
  }
  const model = await modelOf(turn)
  if (!progress.state) await begin(turn)
  const isAgain = progress.state?.isAgain ?? false
  const memories = await turn.memories.block(turn.session)
  const body = await promptBody({ ...turn, model, isAgain, memories, fileContent: fileContentFor(turn) })
  Object.assign(progress, { isUnsent: false, isSent: true, isDue: false, quietMs: 0 })
  try {
    await turn.api.sendPrompt(sessionIdOf(turn), body, context.signal)
    progress.wasConfirmed = true
  } catch (failure) {
    // Without a response the prompt may have arrived; the list shows it.
    const isRejected = failure instanceof RuntimeFailure && failure.status !== undefined && failure.status < 500
    if (isRejected || !(failure instanceof RuntimeFailure)) throw failure
    progress.unfinished = 1
  }
}

/** Stores the last message before the prompt, to distinguish the prompt from earlier ones. */
async function begin(turn: Turn): Promise<void> {
  const { api, context, progress, prompt, transcript } = turn
  const sessionId = sessionIdOf(turn)
  // An earlier turn of ours may still run, if it was stopped while the runtime was unreachable.
  if (await api.isBusy(sessionId, context.signal)) await api.abort(sessionId, context.signal)
  const last = (await api.messages(sessionId, context.signal, 1)).at(-1)
  const after = textOf(last?.info['id'])
  transcript.begin(after)
  progress.state = { promptId: prompt.id, after, isAgain: false, asks: [] }
  await context.saveRefs(refsOf(turn))
}

/**
 * Resumes an interrupted turn of a server that we start: it ends with the process that started it, and a turn ends with
 * an exhausted budget. Closes the open calls, and makes the prompt due again with an instruction to resume.
 */
export async function* resumeTurn(turn: Turn): AsyncGenerator<Batch> {
  const { progress, api, context, transcript } = turn
  if (!progress.state || progress.isUnsent) return
  progress.messageId ??= await findSentPrompt(turn)
  if (progress.messageId === undefined || (await api.isBusy(sessionIdOf(turn), context.signal))) return
  const messages = await listed(turn)
  if (lastAnswer(turn, messages)?.['finish'] === 'stop') return
  const unknown = transcript.closeOpenCalls('interrupted; the outcome of the call is unknown')
  const events = [...absorb(turn, messages), ...unknown, ...transcript.endWaiting()]
  const after = textOf(messages.at(-1)?.info['id'])
  transcript.begin(after)
  progress.state = { ...progress.state, after, isAgain: true, asks: [] }
  Object.assign(progress, { messageId: undefined, isUnsent: true })
  yield* store(turn, events)
}

async function findSentPrompt(turn: Turn): Promise<string | undefined> {
  for (let search = 0; search < maxSearches; search++) {
    if (search > 0) await turn.wait(pollMs)
    const found = findOwn(turn, await listed(turn))
    if (found !== undefined || turn.context.signal.aborted) return found
  }
  return undefined
}

/** A server that we start has the files in its folder. */
const fileContentFor = ({ provider, context }: Turn) => (provider === undefined ? context.fileContent : undefined)

const findOwn = (turn: Turn, messages: readonly ListedMessage[]): string | undefined => {
  const { prompt, progress } = turn
  return ownMessage(messages, {
    prompt,
    fileContent: fileContentFor(turn),
    after: progress.state?.after ?? '',
    isAgain: progress.state?.isAgain ?? false,
    wasConfirmed: progress.wasConfirmed,
  })
}

const pageSize = 200

/** Returns the messages since the prompt, and maybe earlier ones. */
async function listed(
  { api, progress, context }: Turn,
  signal: AbortSignal = context.signal,
): Promise<ListedMessage[]> {
  const after = progress.state?.after ?? ''
  const sessionId = progress.sessionId ?? ''
  const page = await api.messages(sessionId, signal, pageSize)
  const isWhole = page.length < pageSize || page.some(({ info }) => textOf(info['id']) <= after)
  return isWhole ? page : api.messages(sessionId, signal)
}

/**
 * Maximum consecutive polls with an idle runtime and no answer: its status changes a moment after it starts to work.
 */
const maxUnfinished = 15

/** Brings the log up to date with the runtime's list. Returns true when the run has ended. */
export async function* catchUp(turn: Turn): AsyncGenerator<Batch, boolean> {
  const { progress, api, context } = turn
  // The status must be read first: a list that is read after the session is idle is complete.
  const isBusy = await api.isBusy(sessionIdOf(turn), context.signal)
  const messages = await listed(turn)
  const events = absorb(turn, messages)
  progress.messageId ??= findOwn(turn, messages)
  Object.assign(progress, { isDue: false, quietMs: 0, failures: 0 })
  if (isBusy) {
    progress.unfinished = 0
    if (events.length > 0) yield { events, refs: refsOf(turn) }
    yield* openQuestions(turn)
    return false
  }
  const end = endOf(turn, messages)
  if (!end) {
    if (events.length > 0) yield { events, refs: refsOf(turn) }
    return false
  }
  const results = turn.transcript.closeOpenCalls('the run ended before the call')
  yield { events: [...events, ...results, end], refs: refsOf(turn) }
  return true
}

/** Returns the last event of the run; undefined while the runtime may still start or continue. */
function endOf(turn: Turn, messages: readonly ListedMessage[]): NewEvent | undefined {
  const { progress, endpoint } = turn
  const { error } = progress
  const last = lastAnswer(turn, messages)
  if (last && hasEnded(last)) {
    const reported = isRecord(last['error']) ? last['error'] : undefined
    return endingOf(reported ?? (last['finish'] === 'stop' ? undefined : error), endpoint)
  }
  if (error) return endingOf(error, endpoint)
  if (++progress.unfinished < maxUnfinished) return undefined
  return failed('model_request_failed_error', 'the runtime stopped without answering the prompt; send it again')
}

/** Returns the agent's last message after our prompt. */
function lastAnswer({ progress: { messageId } }: Turn, messages: readonly ListedMessage[]): Json | undefined {
  const ours = messages.filter(({ info }) => messageId !== undefined && textOf(info['id']) > messageId)
  return ours.findLast(({ info }) => info['role'] === 'assistant')?.info
}

/** Adds events from the list; a failure is ignored, since the list is read again later. */
export async function* readList(turn: Turn, signal?: AbortSignal): AsyncGenerator<Batch> {
  const messages = await orEmpty(listed(turn, signal))
  const events = absorb(turn, messages)
  if (events.length > 0) yield events
}

/** Returns the list, or an empty one if the server cannot return it. */
const orEmpty = <T>(list: Promise<readonly T[]>): Promise<readonly T[]> =>
  list.catch((failure: unknown) => {
    if (failure instanceof RuntimeFailure) return []
    throw failure
  })

const absorb = ({ transcript }: Turn, messages: readonly ListedMessage[]): NewEvent[] =>
  messages.flatMap(message => transcript.listed(message))

/** Processes questions that were asked while the stream was closed. Older servers have no lists of them. */
async function* openQuestions(turn: Turn): AsyncGenerator<Batch> {
  const { api, children, context } = turn
  const sessionId = sessionIdOf(turn)
  for (const child of await orEmpty(api.children(sessionId, context.signal))) children.add(child)
  const isOurs = (asking: { readonly sessionId: string }) =>
    asking.sessionId === sessionId || children.has(asking.sessionId)
  for (const request of await orEmpty(api.permissions(context.signal)))
    if (isOurs(request)) yield* requestApproval(turn, request)
  for (const question of await orEmpty(api.questions(context.signal)))
    if (isOurs(question)) await rejectQuestion(turn, question.id)
}

/** Rejects a question to the user, which cannot be answered here: the agent continues without an answer. */
export async function rejectQuestion({ api, context, log }: Turn, id: string): Promise<void> {
  await api.rejectQuestion(id, context.signal).catch((failure: unknown) => {
    if (!(failure instanceof RuntimeFailure)) throw failure
    log.debug({ err: failure }, 'opencode: cannot reject a question; retrying in the next poll')
  })
}
