import type { NewEvent } from '../../../contract/events.ts'
import { cleanText } from '../remote/connection.ts'
import { type Batch, failed, type RunContext, type RunPrompt, type RunSession, RuntimeFailure } from '../runtime.ts'
import type { PermissionRequest } from './api.ts'
import { isAborted } from './ending.ts'
import { type Frame, readFrame } from './frame.ts'
import { awaitPendingDecisions, decided, requestApproval, settled } from './permissions.ts'
import { sessionRules } from './session-rules.ts'
import { catchUp, deliver, readList, rejectQuestion, resumeTurn } from './settle.ts'
import { Transcript } from './transcript.ts'
import { createTurn, type Item, retryLater, sessionIdOf, type Turn, type TurnDeps, waitAfterDrops } from './turn.ts'

/** How often a wait checks whether the session must be handed over. */
const pollMs = 500
/** Silence after which the list is read: a stream may lose events and replays none. Dialects: section 2.3. */
const silenceMs = 30_000
/** The same while the runtime is idle without an answer, and before the first event of the stream. */
const shortSilenceMs = 2_000
const openingMs = 5_000
/** The same while a person is asked: a decision ends the wait. */
const questionPollMs = 60_000
const questionSilenceMs = 5 * 60_000

/** Starts or resumes a prompt on an opencode server. */
export async function* runPrompt(
  deps: TurnDeps,
  session: RunSession,
  prompt: RunPrompt,
  context: RunContext,
): AsyncGenerator<Batch> {
  const over = new AbortController()
  const turn = await createTurn(deps, { session, prompt, context })
  try {
    if (context.signal.aborted) yield* stop(turn)
    else yield* work(turn, AbortSignal.any([context.signal, over.signal]))
  } catch (error) {
    if (context.signal.aborted) yield* stop(turn)
    else if (error instanceof RuntimeFailure) yield failure(turn, error)
    else throw error
  } finally {
    over.abort()
  }
}

const failure = ({ transcript }: Turn, { type, message }: RuntimeFailure): Batch => [
  ...transcript.closeOpenCalls('the run failed before the call ended'),
  failed(type, message),
]

async function* work(turn: Turn, lifetime: AbortSignal): AsyncGenerator<Batch> {
  const { context, progress } = turn
  await openSession(turn)
  awaitPendingDecisions(turn)
  listen(turn, lifetime)
  while (!context.signal.aborted) {
    if (context.isDraining()) return
    if (progress.isDue) {
      if (yield* settle(turn)) return
      continue
    }
    const item = await nextItem(turn)
    if (!item) continue
    if (item.kind === 'closed') await reconnect(turn, item.failure, lifetime)
    else if (yield* take(turn, item)) return
  }
  yield* stop(turn)
}

/** Returns the next item; undefined when none arrived for a while. */
async function nextItem(turn: Turn): Promise<Item | undefined> {
  const ms = isAsking(turn) ? questionPollMs : pollMs
  const item = await turn.inbox.next(arrived => turn.wait(ms, arrived))
  if (!item) noteQuiet(turn, ms)
  return item
}

/** Creates the session and stores its id before a prompt is sent. A session whose id is lost costs nothing. */
async function openSession({ api, context, mcp, progress, session }: Turn): Promise<void> {
  if (progress.sessionId !== null) return
  const rules = sessionRules(session.tools, mcp.servers)
  progress.sessionId = await api.createSession(session.title, rules, context.signal)
  await context.saveRefs({ provider_session_id: progress.sessionId })
}

/** Sends the prompt, or reads the list. Returns true when the run has ended. */
async function* settle(turn: Turn): AsyncGenerator<Batch, boolean> {
  try {
    if (turn.progress.isSent) return yield* catchUp(turn)
    if (turn.provider !== undefined) yield* resumeTurn(turn)
    await deliver(turn)
  } catch (error) {
    await retryLater(turn, error)
  }
  return false
}

/** True while opencode waits for a person and the stream is open. */
const isAsking = ({ progress }: Turn): boolean => progress.isOpen && (progress.state?.asks.length ?? 0) > 0

function noteQuiet(turn: Turn, ms: number): void {
  const { progress } = turn
  progress.quietMs += ms
  const patience = isAsking(turn) ? questionSilenceMs : progress.unfinished > 0 ? shortSilenceMs : silenceMs
  if (progress.quietMs >= (progress.isOpen ? patience : openingMs)) progress.isDue = true
}

function listen({ api, inbox, progress }: Turn, lifetime: AbortSignal): void {
  progress.isOpen = false
  const pump = async () => {
    for await (const { data } of api.events(lifetime)) await inbox.put({ kind: 'data', data })
  }
  pump().then(
    () => inbox.put({ kind: 'closed', failure: undefined }),
    (error: unknown) => inbox.put({ kind: 'closed', failure: error }),
  )
}

/** Opens an ended stream again; missed events are read from the list once the stream is open. */
async function reconnect(turn: Turn, cause: unknown, lifetime: AbortSignal): Promise<void> {
  const { progress } = turn
  if (!progress.isOpen)
    await retryLater(turn, cause ?? new RuntimeFailure('model_request_failed_error', 'the runtime closed its stream'))
  await turn.wait(waitAfterDrops(++progress.drops))
  listen(turn, lifetime)
}

/** Processes an item. Returns true when the run is over or must be handed over. */
async function* take(turn: Turn, item: Exclude<Item, { kind: 'closed' }>): AsyncGenerator<Batch, boolean> {
  if (item.kind === 'broken') throw item.error
  if (item.kind === 'decided') {
    if (!item.decision) return true
    yield* decided(turn, item.permission, item.decision)
    return false
  }
  const { progress, children } = turn
  if (!progress.isOpen) Object.assign(progress, { isOpen: true, isDue: true })
  const frame = readFrame(item.data, { sessionId: sessionIdOf(turn), children })
  if (!frame) return false
  Object.assign(progress, { quietMs: 0, drops: 0 })
  yield* follow(turn, frame)
  return false
}

async function* follow(turn: Turn, frame: Frame): AsyncGenerator<Batch> {
  const { transcript, progress, context } = turn
  switch (frame.kind) {
    case 'message':
      return transcript.message(frame.info)
    case 'part': {
      const events = transcript.part(frame.part)
      if (events.length > 0) yield events
      return
    }
    case 'delta': {
      const eventId = transcript.eventOfDelta(frame.partId)
      if (eventId !== undefined && frame.text !== '') context.preview(eventId, frame.text)
      return
    }
    case 'retry':
      return yield [retrying(frame.message, turn)]
    case 'error':
      // An abort by us, maybe during an earlier run, is not an error.
      if (progress.isSent && !isAborted(frame.error)) progress.error ??= frame.error
      progress.isDue = progress.isSent
      return
    case 'idle':
      progress.isDue = progress.isSent
      return
    case 'permission':
      // The call of the request may be in the list only.
      if (isUnknownCall(turn, frame.request)) yield* readList(turn)
      return yield* requestApproval(turn, frame.request)
    case 'replied':
      return yield* settled(turn, frame.id, frame.isAllowed)
    case 'question':
      return rejectQuestion(turn, frame.id)
    case 'child':
      turn.children.add(frame.sessionId)
      return
    case 'busy':
      return
  }
}

const isUnknownCall = ({ progress, transcript }: Turn, { callId, sessionId }: PermissionRequest): boolean =>
  callId !== undefined && sessionId === progress.sessionId && transcript.eventOfCall(callId) === undefined

const retrying = (message: string, { endpoint }: Turn): NewEvent => ({
  type: 'session.error',
  error: {
    type: 'model_request_failed_error',
    message: cleanText(message, endpoint) || 'the model call failed; the runtime retries it',
    retry_status: { type: 'retrying' },
  },
})

/** Gives the open tool calls of an earlier owner their results, for a run that does not continue. */
export async function* closeCutOff({ history }: Pick<RunContext, 'history'>): AsyncGenerator<Batch> {
  const transcript = new Transcript()
  for await (const event of history()) transcript.restore(event)
  const results = transcript.closeOpenCalls('stopped before the call ended')
  if (results.length > 0) yield results
}

/** Stops the runtime for a stopped run; not when the session or the process is lost. */
async function* stop(turn: Turn): AsyncGenerator<Batch> {
  const { api, context, log, progress, session, transcript } = turn
  if (context.isDraining()) return
  // Rejects when another process owns the session and continues the run.
  await context.saveRefs({ provider_session_id: progress.sessionId })
  if (progress.state && progress.sessionId !== null) {
    const signal = AbortSignal.timeout(10_000)
    try {
      await api.abort(progress.sessionId, signal)
      yield* readList(turn, signal)
    } catch (cause) {
      if (!signal.aborted && !(cause instanceof RuntimeFailure)) throw cause
      log.warn({ err: cause, session_id: session.id }, 'opencode: cannot stop the run at the runtime')
    }
  }
  const results = transcript.closeOpenCalls('stopped before the call ended')
  if (results.length > 0) yield results
}
