import type { NewEvent } from '../../../contract/events.ts'
import { isRecord, type Json, textOf } from '../../platform/json.ts'
import { type Batch, failed, RuntimeFailure } from '../runtime.ts'
import type { ListedMessage } from './api.ts'
import { ask } from './asks.ts'
import { endingOf } from './ending.ts'
import { modelOf } from './model.ts'
import { ownMessage, promptBody } from './prompt.ts'
import { hasEnded } from './transcript.ts'
import { refsOf, sessionIdOf, store, type Turn } from './turn.ts'

/** How often it is looked for a prompt that an owner before us may have sent, and how long in between. */
const looks = 5
const lookMs = 1_000

/** Sends the prompt, unless an owner before us did. Nothing sends it twice. */
export async function deliver(turn: Turn): Promise<void> {
  const { progress, context } = turn
  if (progress.state && !progress.isUnsent) {
    progress.messageId ??= await lookForPrompt(turn)
    if (progress.messageId !== undefined) {
      // What came before we listened is in the list alone.
      Object.assign(progress, { isSent: true, isDue: true })
      return
    }
  }
  const model = await modelOf(turn)
  if (!progress.state) await begin(turn)
  const isAgain = progress.state?.isAgain ?? false
  const body = promptBody({ ...turn, model, isAgain, memories: await turn.memories.block(turn.session) })
  Object.assign(progress, { isUnsent: false, isSent: true, isDue: false, quietMs: 0 })
  try {
    await turn.api.sendPrompt(sessionIdOf(turn), body, context.signal)
    progress.wasTaken = true
  } catch (failure) {
    // Without an answer it may have arrived or not; the list will tell.
    const isKnown = failure instanceof RuntimeFailure && failure.status !== undefined && failure.status < 500
    if (isKnown || !(failure instanceof RuntimeFailure)) throw failure
    progress.unfinished = 1
  }
}

/** Notes where the conversation stands, so that the prompt can be told from those before it. */
async function begin(turn: Turn): Promise<void> {
  const { api, context, progress, prompt, transcript } = turn
  const sessionId = sessionIdOf(turn)
  // A turn of ours that was stopped while nothing could be told to the runtime.
  if (await api.isBusy(sessionId, context.signal)) await api.abort(sessionId, context.signal)
  const last = (await api.messages(sessionId, context.signal, 1)).at(-1)
  const after = textOf(last?.info['id'])
  transcript.begin(after)
  progress.state = { promptId: prompt.id, after, isAgain: false, asks: [] }
  await context.remember(refsOf(turn))
}

/**
 * A server of ours ends with the process that started it, and a turn of it with a budget: what is left of the turn is
 * settled, and the prompt is sent again in words that say so.
 */
export async function* goOn(turn: Turn): AsyncGenerator<Batch> {
  const { progress, api, context, transcript } = turn
  if (!progress.state || progress.isUnsent) return
  progress.messageId ??= await lookForPrompt(turn)
  if (progress.messageId === undefined || (await api.isBusy(sessionIdOf(turn), context.signal))) return
  const messages = await listed(turn)
  if (lastAnswer(turn, messages)?.['finish'] === 'stop') return
  const unknown = transcript.cutOff('interrupted; what the call has done is not known')
  const events = [...absorb(turn, messages), ...unknown, ...transcript.endWaiting()]
  const after = textOf(messages.at(-1)?.info['id'])
  transcript.begin(after)
  progress.state = { ...progress.state, after, isAgain: true, asks: [] }
  Object.assign(progress, { messageId: undefined, isUnsent: true })
  yield* store(turn, events)
}

async function lookForPrompt(turn: Turn): Promise<string | undefined> {
  for (let look = 0; look < looks; look++) {
    if (look > 0) await turn.wait(lookMs)
    const found = findOwn(turn, await listed(turn))
    if (found !== undefined || turn.context.signal.aborted) return found
  }
  return undefined
}

const findOwn = ({ prompt, progress }: Turn, messages: readonly ListedMessage[]): string | undefined =>
  ownMessage(messages, {
    prompt,
    after: progress.state?.after ?? '',
    isAgain: progress.state?.isAgain ?? false,
    wasTaken: progress.wasTaken,
  })

const pageSize = 200

/** The messages since the prompt, and perhaps some before it. */
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

/** How often in a row the runtime may be idle without an answer to the prompt: it works for a moment before it says so. */
const maxUnfinished = 15

/** Brings the log up to what the runtime holds: its list is the truth. True when the run has ended. */
export async function* catchUp(turn: Turn): AsyncGenerator<Batch, boolean> {
  const { progress, api, context } = turn
  // In this order: what is idle now has all its messages in a list that is read later.
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
  const cutOff = turn.transcript.cutOff('the run ended before the call did')
  yield { events: [...events, ...cutOff, end], refs: refsOf(turn) }
  return true
}

/** The event that ends the run; undefined while the runtime may still begin, or go on. */
function endOf(turn: Turn, messages: readonly ListedMessage[]): NewEvent | undefined {
  const { progress, endpoint } = turn
  const { error } = progress
  const last = lastAnswer(turn, messages)
  if (last && hasEnded(last)) {
    const said = isRecord(last['error']) ? last['error'] : undefined
    return endingOf(said ?? (last['finish'] === 'stop' ? undefined : error), endpoint)
  }
  if (error) return endingOf(error, endpoint)
  if (++progress.unfinished < maxUnfinished) return undefined
  return failed('model_request_failed_error', 'the runtime stopped without an answer to the prompt; send it again')
}

/** The last message of the agent to our prompt. */
function lastAnswer({ progress: { messageId } }: Turn, messages: readonly ListedMessage[]): Json | undefined {
  const ours = messages.filter(({ info }) => messageId !== undefined && textOf(info['id']) > messageId)
  return ours.findLast(({ info }) => info['role'] === 'assistant')?.info
}

/** Adds what the list knows; when it can not be read now, a later look will do. */
export async function* readList(turn: Turn, signal?: AbortSignal): AsyncGenerator<Batch> {
  const messages = await tolerated(listed(turn, signal))
  const events = absorb(turn, messages)
  if (events.length > 0) yield events
}

/** The list, or an empty one from a server that does not tell. */
const tolerated = <T>(list: Promise<readonly T[]>): Promise<readonly T[]> =>
  list.catch((failure: unknown) => {
    if (failure instanceof RuntimeFailure) return []
    throw failure
  })

const absorb = ({ transcript }: Turn, messages: readonly ListedMessage[]): NewEvent[] =>
  messages.flatMap(message => transcript.listed(message))

/** What was asked while nobody listened. Servers that are older have no lists of it. */
async function* openQuestions(turn: Turn): AsyncGenerator<Batch> {
  const { api, children, context } = turn
  const sessionId = sessionIdOf(turn)
  for (const child of await tolerated(api.children(sessionId, context.signal))) children.add(child)
  const isOurs = (asking: { readonly sessionId: string }) =>
    asking.sessionId === sessionId || children.has(asking.sessionId)
  for (const request of await tolerated(api.permissions(context.signal))) if (isOurs(request)) yield* ask(turn, request)
  for (const question of await tolerated(api.questions(context.signal)))
    if (isOurs(question)) await refuseQuestion(turn, question.id)
}

/** Nobody is there to answer: the agent goes on without. */
export async function refuseQuestion({ api, context, log }: Turn, id: string): Promise<void> {
  await api.rejectQuestion(id, context.signal).catch((failure: unknown) => {
    if (!(failure instanceof RuntimeFailure)) throw failure
    log.debug({ err: failure }, 'opencode: a question could not be refused; the next look will try again')
  })
}
