import { type Backoff, createBackoff, isPassing } from '../remote/backoff.ts'
import { type Batch, isFailureWithStatus, RuntimeFailure } from '../runtime.ts'
import type { CursorRun, NativeEvent } from './api.ts'
import { isTerminal, outcomeOf } from './conclude.ts'
import { end, endOfStream, normalize, type Read } from './normalize.ts'
import { canResume, type Reading, readingFrom } from './reading.ts'
import { type CursorTask, mustLeave } from './task.ts'

/** A run fails when its status cannot be read for this long. */
const maxLostMs = 300_000
/** A stream that fails this often at the same place is not opened again. */
const maxBreaks = 3

/** Restores the reading of a run from the log and the stored place in the stream. */
export const readingOf = ({ context, prompt, notes }: CursorTask, runId: string): Promise<Reading> =>
  readingFrom(context.history(), prompt.id, {
    runId,
    lastEventId: notes.state.last_event_id,
    isCancelled: notes.state.is_cancelled,
  })

/**
 * Follows the run until it ends, over as many streams as needed. If a stream does not show the end, the run's status is
 * read. Returns without a last event when the run must be left. Rejects with `RuntimeFailure`.
 */
export async function* follow(task: CursorTask, runId: string): AsyncGenerator<Batch> {
  const { context, wait } = task
  const streamBackoff = createBackoff({ wait, signal: context.signal })
  const backoff = createBackoff({ wait, signal: context.signal, maxMs: maxLostMs })
  let reading = await readingOf(task, runId)
  task.reading = reading
  let course: Course = { breaks: 0, isAbandoned: !canResume(reading) }
  while (!mustLeave(context)) {
    const stream = course.isAbandoned ? undefined : yield* readStream(task, reading)
    const hasMoved = task.reading.lastId !== reading.lastId
    reading = task.reading
    if (reading.isOver || mustLeave(context)) return
    if (hasMoved) streamBackoff.reset()
    course = courseAfter(course, { stream, hasMoved, reading })
    const run = await readRun(task, runId, backoff)
    if (run === undefined) return
    const last = isTerminal(run.status)
      ? end(reading, outcomeOf(run, stream !== 'whole'), task.words)
      : endOfStream(reading, task.words)
    if (last.events.length > 0) {
      yield batchOf(task, last)
      return
    }
    await streamBackoff.wait()
  }
}

/** State of the streams so far. */
interface Course {
  /** Consecutive faults at the same place. */
  readonly breaks: number
  /** True when no further stream is opened. */
  readonly isAbandoned: boolean
}

interface StreamReport {
  readonly stream: StreamEnd | undefined
  readonly hasMoved: boolean
  readonly reading: Reading
}

function courseAfter({ breaks, isAbandoned }: Course, { stream, hasMoved, reading }: StreamReport): Course {
  const now = (hasMoved ? 0 : breaks) + (stream === 'fault' ? 1 : 0)
  return { breaks: now, isAbandoned: isAbandoned || stream === 'gap' || now >= maxBreaks || !canResume(reading) }
}

/** How a stream ended: regularly, too early, by a fault, or so that it cannot be resumed. */
type StreamEnd = 'whole' | 'early' | 'fault' | 'gap'

/** Reads one stream to its end, and updates `task.reading`. */
async function* readStream(task: CursorTask, start: Reading): AsyncGenerator<Batch, StreamEnd> {
  const { api, notes, context } = task
  const place = { agentId: notes.agentId ?? '', runId: start.runId }
  const stream = api.events(place, { after: start.lastId, signal: context.signal })
  let reading = start
  let hasError = false
  try {
    for await (const event of stream) {
      // The run's record may have more details than a stream without a result.
      if (mustLeave(context) || (event.name === 'done' && reading.pendingStatus !== undefined)) return 'early'
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

/** Throws a failure that another stream would not resolve. */
function streamEndBy(failure: unknown, { signal }: CursorTask['context']): StreamEnd {
  if (signal.aborted) return 'early'
  if (!(failure instanceof RuntimeFailure) || isFailureWithStatus(failure, 401) || isFailureWithStatus(failure, 403))
    throw failure
  return isFailureWithStatus(failure, 400) || isFailureWithStatus(failure, 410) ? 'gap' : 'fault'
}

/** Reads the run's record; returns undefined when the run must be left first. */
async function readRun(
  { api, notes, context }: CursorTask,
  runId: string,
  backoff: Backoff,
): Promise<CursorRun | undefined> {
  while (!mustLeave(context)) {
    try {
      const run = await api.run({ agentId: notes.agentId ?? '', runId }, context.signal)
      backoff.reset()
      return run
    } catch (failure) {
      if (context.signal.aborted) return undefined
      if (isFailureWithStatus(failure, 404))
        throw new RuntimeFailure('model_request_failed_error', 'the run was deleted at Cursor')
      if (!isPassing(failure) || !(await backoff.wait(failure.retryAfterMs))) throw failure
    }
  }
  return undefined
}

/** Returns events with the place in the stream that they were read up to. */
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
