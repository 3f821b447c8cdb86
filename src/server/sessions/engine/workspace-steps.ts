import type { NewEvent, SessionEvent } from '../../../contract/events.ts'
import { DatabaseUnavailable } from '../../platform/errors.ts'
import type { Log } from '../../platform/log.ts'
import { pause } from '../../platform/timers.ts'
import type { Runtime } from '../../runtimes/runtime.ts'
import type { ReadyCheckpoint, Workspaces } from '../../workspaces/workspaces.ts'
import { FenceLost, whileLeased } from '../log/event-log.ts'
import type { Queryable } from '../log/event-store.ts'
import type { RunRow } from '../session-row.ts'
import type { LeasedSession } from './leases.ts'
import { leftOutWarning } from './workspace-warnings.ts'

export interface StepsDeps {
  readonly workspaces: Pick<Workspaces, 'capture'>
  readonly log: Log
}

interface Stepping {
  readonly leased: LeasedSession
  readonly row: Pick<RunRow, 'id' | 'owner_id' | 'checkpoint_id'>
  readonly runtime: Pick<Runtime, 'workspace'>
}

/** Writes that belong to the events of a step. */
export interface StepFiles {
  /** Warnings about the files, for the log. */
  readonly warnings: readonly NewEvent[]
  /** Stores the checkpoint in the transaction of the step, under its last tool result; undefined when there is none. */
  readonly commit: ((on: Queryable, stored: readonly SessionEvent[]) => Promise<void>) | undefined
  /** Must be called after the commit. */
  readonly done: () => Promise<void>
}

/** Returns the number of the last tool result, else of the last event. */
const seqOfFiles = (stored: readonly SessionEvent[]): number =>
  (stored.findLast(({ type }) => type === 'agent.tool_result') ?? stored.at(-1))?.seq ?? 0

/** Events about changes of the service itself. */
const changesFiles: ReadonlySet<string> = new Set(['session.repository_ready', 'session.repository_pushed'])

const noFiles: StepFiles = { warnings: [], commit: undefined, done: async () => undefined }
const maxTries = 3
const firstRetryMs = 250

const failedWarning: NewEvent = {
  type: 'session.warning',
  warning: {
    type: 'checkpoint_failed',
    message: 'cannot store the files of this step: only this machine has them until the next step is stored',
  },
}

/**
 * The checkpoints of one run, one for each step that may have changed files. Step and checkpoint are committed
 * together, so a crash leaves the files as of the last tool result in the log.
 */
export class WorkspaceSteps {
  readonly #deps: StepsDeps
  readonly #task: Stepping
  /** Open calls. A result without an entry is from a previous owner's call, which may have changed files. */
  readonly #calls = new Map<string, { readonly isRead: boolean }>()
  /** Files may change at any time until the end of the run. */
  #changesAnytime: boolean
  /** Files may have changed since the last capture. */
  #isDirty: boolean
  #checkpointId: string | null
  #hasFailed = false

  constructor(deps: StepsDeps, task: Stepping) {
    this.#deps = deps
    this.#task = task
    this.#checkpointId = task.row.checkpoint_id
    this.#changesAnytime = task.runtime.workspace?.onlyByCalls === false
    this.#isDirty = this.#changesAnytime
  }

  /** Captures the files for `events`, which are about to be stored. */
  async with(events: readonly NewEvent[]): Promise<StepFiles> {
    const { workspace } = this.#task.runtime
    if (!workspace) return noFiles
    let hasResult = false
    for (const event of events) {
      const id = event.tool_use_id ?? ''
      if (event.type === 'agent.tool_use' || event.type === 'agent.custom_tool_use') {
        const name = String(event['name'])
        this.#calls.set(id, { isRead: workspace.isRead(name) })
        this.#changesAnytime ||= workspace.outlivesCall?.(name, event['input']) ?? false
      } else if (event.type === 'agent.tool_result') {
        hasResult ||= !this.#calls.get(id)?.isRead
        this.#calls.delete(id)
      } else if (changesFiles.has(event.type)) hasResult = true
    }
    this.#isDirty ||= hasResult
    return hasResult ? this.#capture() : noFiles
  }

  /** Records that this process has written files into the workspace. */
  touch(): void {
    this.#isDirty = true
  }

  /** Captures the files at the end of the run. */
  async atEnd(): Promise<StepFiles> {
    const isOpen = [...this.#calls.values()].some(({ isRead }) => !isRead)
    return this.#task.runtime.workspace && (this.#isDirty || isOpen) ? this.#capture() : noFiles
  }

  async #capture(): Promise<StepFiles> {
    const ready = await this.#tried()
    if (ready === 'failed') return this.#failedOnce()
    this.#hasFailed = false
    this.#isDirty = this.#changesAnytime
    if (!ready) return noFiles
    const warnings = ready.leftOut?.length ? [leftOutWarning(ready.leftOut, 'not part of checkpoints')] : []
    return {
      warnings,
      commit: (on, stored) => ready.commit(on, seqOfFiles(stored)),
      done: async () => {
        this.#checkpointId = ready.id
        await ready.done()
      },
    }
  }

  /** The run continues without a checkpoint: the files are on this machine, and the next step stores them as well. */
  #failedOnce(): StepFiles {
    const warnings = this.#hasFailed ? [] : [failedWarning]
    this.#hasFailed = true
    return { ...noFiles, warnings }
  }

  async #tried(): Promise<ReadyCheckpoint | 'failed' | undefined> {
    const { leased, row } = this.#task
    const session = { id: row.id, owner_id: row.owner_id, checkpoint_id: this.#checkpointId }
    for (let tries = 1; ; tries++) {
      try {
        return await whileLeased(leased, () => this.#deps.workspaces.capture(session))
      } catch (cause) {
        if (cause instanceof FenceLost || cause instanceof DatabaseUnavailable) throw cause
        this.#deps.log.warn({ err: cause, session_id: row.id, tries }, 'cannot store the files of a session')
        if (tries === maxTries) return 'failed'
        await pause(firstRetryMs * 2 ** tries, leased.lost)
      }
    }
  }
}
