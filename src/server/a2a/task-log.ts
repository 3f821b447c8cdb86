import type { A2aStreamResponse } from '../../contract/a2a-objects.ts'
import type { SessionEvent } from '../../contract/events.ts'
import type { EventStore } from '../sessions/log/event-store.ts'
import { type Following, followLog } from '../sessions/log/following.ts'
import type { LiveEvents } from '../sessions/log/live-events.ts'
import { eventOf } from '../sessions/log/log-page.ts'
import type { TaskFiles } from './task-files.ts'
import { type TaskPrompt, TaskReading } from './task-reading.ts'
import type { TaskRow } from './task-store.ts'

interface Deps {
  readonly events: Pick<EventStore, 'boundedPage' | 'seqOfPrompt'>
  readonly live: Pick<LiveEvents, 'subscribe' | 'generated'>
  readonly filesOf: TaskFiles
}

/** A task and the position in the log up to which it was read. */
export interface OpenTask<Prompt extends TaskPrompt = TaskRow> {
  readonly row: Prompt
  readonly reading: TaskReading
  after: number
}

/** Reads tasks from the logs of their sessions, and follows them. */
export type TaskLog = ReturnType<typeof createTaskLog>

export function createTaskLog({ events, live, filesOf }: Deps) {
  /** Takes an event into the task. When it ends the task, its files come before the last change. */
  async function take({ row, reading }: OpenTask<TaskPrompt>, event: SessionEvent): Promise<A2aStreamResponse[]> {
    const changes = reading.take(event)
    if (!reading.isOver || changes.length === 0) return changes
    const files = reading.addFiles(await filesOf(row, reading))
    return [...changes.slice(0, -1), ...files, ...changes.slice(-1)]
  }

  /** Yields the changes of a task after its position, until `isDone` or until the signal aborts. */
  async function* changes(
    task: OpenTask,
    isDone: () => boolean,
    following: Following,
  ): AsyncGenerator<A2aStreamResponse> {
    if (isDone()) return
    const position = { sessionId: task.row.session_id, after: task.after }
    for await (const frame of followLog(live, position, following)) {
      if ('seq' in frame) task.after = frame.seq
      yield* 'seq' in frame ? await take(task, eventOf(frame)) : task.reading.preview(frame)
      if (isDone()) return
    }
  }

  return {
    /** Reads the log up to its current end, or that of the task, or event `upTo`. */
    async read<Prompt extends TaskPrompt>(row: Prompt, upTo = Number.POSITIVE_INFINITY): Promise<OpenTask<Prompt>> {
      const reading = new TaskReading(row)
      const start = ((await events.seqOfPrompt(row.session_id, row.id)) ?? 1) - 1
      const task: OpenTask<Prompt> = { row, reading, after: Math.min(start, upTo) }
      while (!reading.isOver && task.after < upTo) {
        const page = await events.boundedPage(row.session_id, task.after)
        const wanted = page?.events.filter(({ seq }) => seq <= upTo) ?? []
        for (const event of wanted) await take(task, event)
        task.after = wanted.at(-1)?.seq ?? task.after
        if (!page || wanted.length === 0 || task.after >= page.last) break
      }
      return task
    },

    /** Returns the events that follow in the log, at most a page, unread. Empty at its end, and once it was purged. */
    async next({ row, after }: Pick<OpenTask<TaskPrompt>, 'row' | 'after'>): Promise<readonly SessionEvent[]> {
      return (await events.boundedPage(row.session_id, after))?.events ?? []
    },

    take,

    /** Yields the changes of a task until it ends. */
    untilOver: (task: OpenTask, following: Following) => changes(task, () => task.reading.isOver, following),

    /** Yields the changes of a task until it ends or asks. */
    untilSettled: (task: OpenTask, following: Following) =>
      changes(task, () => task.reading.isOver || task.reading.isAsking, following),
  }
}
