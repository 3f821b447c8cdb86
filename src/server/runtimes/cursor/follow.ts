import { type Batch, isRefusal, RuntimeFailure } from '../runtime.ts'
import type { CursorRun, NativeEvent } from './api.ts'
import { isTerminal, outcomeOf } from './conclude.ts'
import { isPassing } from './failures.ts'
import { end, endOfStream, normalize, type Read } from './normalize.ts'
import { createPatience, type Patience } from './patience.ts'
import { canResume, type Reading, readingFrom } from './reading.ts'
import { type CursorTask, mustLeave } from './task.ts'

/** A run that cannot be asked about is given up after this. */
const maxLostMs = 300_000
/** A stream that breaks this often at the same place is not opened again. */
const maxBreaks = 3

/** Where the run stands: the log tells what was read, what is stored tells how far. */
export const readingOf = ({ context, prompt, notes }: CursorTask, runId: string): Promise<Reading> =>
  readingFrom(context.history(), prompt.id, {
    runId,
    lastEventId: notes.state.last_event_id,
    isCancelled: notes.state.is_cancelled,
  })

/**
 * Tells what the run does until it ends, over as many streams as that takes. When its stream cannot tell, the run itself is
 * asked how it ended. Returns without a last event when the run has to be left. Rejects with `RuntimeFailure`.
 */
export async function* follow(task: CursorTask, runId: string): AsyncGenerator<Batch> {
  const { context, wait } = task
  const rest = createPatience({ wait, signal: context.signal })
  const patience = createPatience({ wait, signal: context.signal, maxMs: maxLostMs })
  let reading = await readingOf(task, runId)
  task.reading = reading
  let course: Course = { breaks: 0, isBlind: !canResume(reading) }
  while (!mustLeave(context)) {
    const stream = course.isBlind ? undefined : yield* readStream(task, reading)
    const hasMoved = task.reading.lastId !== reading.lastId
    reading = task.reading
    if (reading.isOver || mustLeave(context)) return
    if (hasMoved) rest.renew()
    course = courseAfter(course, { stream, hasMoved, reading })
    const run = await ask(task, runId, patience)
    if (run === undefined) return
    const last = isTerminal(run.status)
      ? end(reading, outcomeOf(run, stream !== 'whole'), task.words)
      : endOfStream(reading, task.words)
    if (last.events.length > 0) {
      yield batchOf(task, last)
      return
    }
    await rest.wait()
  }
}

/** What the streams so far say about the next. */
interface Course {
  /** Faults in a row at the same place. */
  readonly breaks: number
  /** No stream is opened any more. */
  readonly isBlind: boolean
}

interface StreamReport {
  readonly stream: StreamEnd | undefined
  readonly hasMoved: boolean
  readonly reading: Reading
}

function courseAfter({ breaks, isBlind }: Course, { stream, hasMoved, reading }: StreamReport): Course {
  const now = (hasMoved ? 0 : breaks) + (stream === 'fault' ? 1 : 0)
  return { breaks: now, isBlind: isBlind || stream === 'gap' || now >= maxBreaks || !canResume(reading) }
}

/** How a stream ended: as Cursor ends one; too early; by a fault; or so that it cannot be gone on with. */
type StreamEnd = 'whole' | 'early' | 'fault' | 'gap'

/** Reads one stream as far as it goes; `task.reading` is where it got to. */
async function* readStream(task: CursorTask, start: Reading): AsyncGenerator<Batch, StreamEnd> {
  const { api, notes, context } = task
  const place = { agentId: notes.agentId ?? '', runId: start.runId }
  const stream = api.events(place, { after: start.lastId, signal: context.signal })
  let reading = start
  let hasError = false
  try {
    for await (const event of stream) {
      // The run itself may tell more of its end than a stream that has no result.
      if (mustLeave(context) || (event.name === 'done' && reading.heldStatus !== undefined)) return 'early'
      const read = takeIn(task, reading, event)
      reading = read.reading
      if (read.events.length > 0) yield batchOf(task, read)
      hasError ||= event.name === 'error'
      if (event.name === 'done' || reading.isOver) return hasError ? 'early' : 'whole'
    }
  } catch (failure) {
    return streamEndBy(failure, context)
  }
  return 'early'
}

function takeIn(task: CursorTask, reading: Reading, event: NativeEvent): Read {
  const read = normalize(reading, event, task.words)
  task.reading = read.reading
  if (read.shown) task.context.preview(read.shown.eventId, read.shown.text)
  return read
}

/** Rejects with what no other stream would change. */
function streamEndBy(failure: unknown, { signal }: CursorTask['context']): StreamEnd {
  if (signal.aborted) return 'early'
  if (!(failure instanceof RuntimeFailure) || isRefusal(failure, 401) || isRefusal(failure, 403)) throw failure
  return isRefusal(failure, 400) || isRefusal(failure, 410) ? 'gap' : 'fault'
}

/** The run as Cursor tells it when asked; undefined when it has to be left before. */
async function ask(
  { api, notes, context }: CursorTask,
  runId: string,
  patience: Patience,
): Promise<CursorRun | undefined> {
  while (!mustLeave(context)) {
    try {
      const run = await api.run({ agentId: notes.agentId ?? '', runId }, context.signal)
      patience.renew()
      return run
    } catch (failure) {
      if (context.signal.aborted) return undefined
      if (isRefusal(failure, 404)) throw new RuntimeFailure('model_request_failed_error', 'the run is gone at Cursor')
      if (!isPassing(failure) || !(await patience.wait(failure.retryAfterMs))) throw failure
    }
  }
  return undefined
}

/** Events, and the place in the stream that they come from. */
function batchOf(task: CursorTask, { reading, events }: Read): Batch {
  task.reading = reading
  const { branches } = reading
  const refs = task.notes.refsWith({
    last_event_id: reading.safeId,
    is_over: reading.isOver,
    ...(branches.length > 0 && { git: { branches } }),
  })
  return { events, refs }
}
