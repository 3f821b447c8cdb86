import type { A2aStreamResponse } from '../../contract/a2a-objects.ts'
import { pause } from '../platform/timers.ts'
import type { EventStore } from '../sessions/log/event-store.ts'
import type { LiveEvents, Subscription } from '../sessions/log/live-events.ts'
import { eventOf, type LogFrame } from '../sessions/log/log-page.ts'
import { TaskReading } from './task-reading.ts'
import type { TaskRow } from './task-store.ts'

interface Deps {
  readonly events: Pick<EventStore, 'boundedPage' | 'seqOfPrompt'>
  readonly live: Pick<LiveEvents, 'subscribe'>
}

/** A task and the position in the log up to which it was read. */
export interface OpenTask {
  readonly row: TaskRow
  readonly reading: TaskReading
  after: number
}

const retryMs = 500

/** Reads tasks from the logs of their sessions, and follows them. */
export type TaskLog = ReturnType<typeof createTaskLog>

export function createTaskLog({ events, live }: Deps) {
  /** Yields the changes of a task after its position, until `isDone` or until the signal aborts. */
  async function* changes(
    task: OpenTask,
    isDone: () => boolean,
    signal: AbortSignal,
  ): AsyncGenerator<A2aStreamResponse> {
    if (isDone()) return
    const subscription = live.subscribe(task.row.session_id, { signal })
    try {
      for await (const frame of framesAfter(subscription, task, signal)) {
        yield* task.reading.take(eventOf(frame))
        if (isDone()) return
      }
    } finally {
      subscription.close()
    }
  }

  return {
    /** Reads the log up to its current end, or that of the task. */
    async read(row: TaskRow): Promise<OpenTask> {
      const reading = new TaskReading(row)
      const task: OpenTask = { row, reading, after: ((await events.seqOfPrompt(row.session_id, row.id)) ?? 1) - 1 }
      while (!reading.isOver) {
        const page = await events.boundedPage(row.session_id, task.after)
        if (!page || page.events.length === 0) break
        for (const event of page.events) reading.take(event)
        task.after = page.events.at(-1)?.seq ?? task.after
        if (task.after >= page.last) break
      }
      return task
    },

    /** Yields the changes of a task until it ends. */
    untilOver: (task: OpenTask, signal: AbortSignal) => changes(task, () => task.reading.isOver, signal),

    /** Yields the changes of a task until it ends or asks. */
    untilSettled: (task: OpenTask, signal: AbortSignal) =>
      changes(task, () => task.reading.isOver || task.reading.isAsking, signal),
  }
}

/** Yields the frames after the position of the task, which it advances. */
async function* framesAfter(
  subscription: Subscription,
  task: OpenTask,
  signal: AbortSignal,
): AsyncGenerator<LogFrame, void> {
  while (!signal.aborted) {
    const frames = await nextFrames(subscription, task.after, signal)
    if (frames === 'purged') return
    for (const frame of frames ?? []) {
      task.after = frame.seq
      yield frame
    }
    if (frames?.length === 0) await subscription.wait(task.after)
  }
}

/** Returns the next frames; undefined, after a delay, while the database is unreachable. */
async function nextFrames(
  subscription: Subscription,
  after: number,
  signal: AbortSignal,
): Promise<readonly LogFrame[] | 'purged' | undefined> {
  try {
    return (await subscription.read(after)) ?? 'purged'
  } catch {
    await pause(retryMs, signal)
    return undefined
  }
}
