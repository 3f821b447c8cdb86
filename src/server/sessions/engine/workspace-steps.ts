import type { NewEvent, SessionEvent } from '../../../contract/events.ts'
import { DatabaseUnavailable } from '../../platform/errors.ts'
import type { Log } from '../../platform/log.ts'
import { pause } from '../../platform/timers.ts'
import type { Runtime } from '../../runtimes/runtime.ts'
import type { ReadyCheckpoint, Workspaces } from '../../workspaces/workspaces.ts'
import { FenceLost, whileHeld } from '../log/event-log.ts'
import type { Queryable } from '../log/event-store.ts'
import type { RunRow } from '../session-row.ts'
import type { HeldSession } from './leases.ts'
import { leftOutWarning } from './workspace-words.ts'

export interface StepsDeps {
  readonly workspaces: Pick<Workspaces, 'capture'>
  readonly log: Log
}

interface Stepping {
  readonly held: HeldSession
  readonly row: Pick<RunRow, 'id' | 'owner_id' | 'checkpoint_id'>
  readonly runtime: Pick<Runtime, 'workspace'>
}

/** What is stored with the events of a step. */
export interface StepFiles {
  /** Warnings about the files, for the log. */
  readonly told: readonly NewEvent[]
  /** Stores the checkpoint together with the step, as of its last result of a tool; undefined when there is none. */
  readonly commit: ((on: Queryable, stored: readonly SessionEvent[]) => Promise<void>) | undefined
  /** Call it after the commit. */
  readonly done: () => Promise<void>
}

/** The result that they came with; without one the last event. */
const seqOfFiles = (stored: readonly SessionEvent[]): number =>
  (stored.findLast(({ type }) => type === 'agent.tool_result') ?? stored.at(-1))?.seq ?? 0

const noFiles: StepFiles = { told: [], commit: undefined, done: async () => undefined }
const mostTries = 3
const firstRetryMs = 250

const failedWarning: NewEvent = {
  type: 'session.warning',
  warning: {
    type: 'checkpoint_failed',
    message: 'the files of this step could not be stored: only this machine has them until the next step is stored',
  },
}

/**
 * The checkpoints of one run: one with each step that may have changed files. The step counts as done once both are committed, so a
 * crash leaves the files as of the last tool result in the log.
 */
export class WorkspaceSteps {
  readonly #deps: StepsDeps
  readonly #task: Stepping
  /** Calls whose results are to come; undefined: of an owner before us, it may change files. */
  readonly #calls = new Map<string, { readonly isRead: boolean }>()
  /** Files may have changed since the last look. */
  #isDirty: boolean
  #checkpointId: string | null
  #hasFailed = false

  constructor(deps: StepsDeps, task: Stepping) {
    this.#deps = deps
    this.#task = task
    this.#checkpointId = task.row.checkpoint_id
    this.#isDirty = task.runtime.workspace?.onlyByCalls === false
  }

  /** The files that belong to these events, which are about to be stored. */
  async with(events: readonly NewEvent[]): Promise<StepFiles> {
    const { workspace } = this.#task.runtime
    if (!workspace) return noFiles
    let hasResult = false
    for (const event of events) {
      const id = String(event['tool_use_id'])
      if (event.type === 'agent.tool_use') {
        this.#calls.set(id, { isRead: workspace.isRead(String(event['name'])) })
      } else if (event.type === 'agent.tool_result') {
        hasResult ||= !this.#calls.get(id)?.isRead
        this.#calls.delete(id)
      }
    }
    this.#isDirty ||= hasResult
    return hasResult ? this.#capture() : noFiles
  }

  /** The files as of the end of the run. */
  async atEnd(): Promise<StepFiles> {
    const isOpen = [...this.#calls.values()].some(({ isRead }) => !isRead)
    return this.#task.runtime.workspace && (this.#isDirty || isOpen) ? this.#capture() : noFiles
  }

  async #capture(): Promise<StepFiles> {
    const ready = await this.#tried()
    if (ready === 'failed') return this.#failedOnce()
    this.#hasFailed = false
    this.#isDirty = this.#task.runtime.workspace?.onlyByCalls === false
    if (!ready) return noFiles
    const told = ready.leftOut?.length ? [leftOutWarning(ready.leftOut, 'not part of checkpoints')] : []
    return {
      told,
      commit: (on, stored) => ready.commit(on, seqOfFiles(stored)),
      done: async () => {
        this.#checkpointId = ready.id
        await ready.done()
      },
    }
  }

  /** Without its files the run goes on: they are on this machine, and the next step stores them as well. */
  #failedOnce(): StepFiles {
    const told = this.#hasFailed ? [] : [failedWarning]
    this.#hasFailed = true
    return { ...noFiles, told }
  }

  async #tried(): Promise<ReadyCheckpoint | 'failed' | undefined> {
    const { held, row } = this.#task
    const session = { id: row.id, owner_id: row.owner_id, checkpoint_id: this.#checkpointId }
    for (let tries = 1; ; tries++) {
      try {
        return await whileHeld(held, () => this.#deps.workspaces.capture(session))
      } catch (cause) {
        if (cause instanceof FenceLost || cause instanceof DatabaseUnavailable) throw cause
        this.#deps.log.warn({ err: cause, session_id: row.id, tries }, 'the files of a session could not be stored')
        if (tries === mostTries) return 'failed'
        await pause(firstRetryMs * 2 ** tries, held.lost)
      }
    }
  }
}
