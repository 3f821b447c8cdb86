import type { Pool } from 'pg'
import type { NewEvent } from '../../../contract/events.ts'
import type { Outcome } from '../../../contract/outcomes.ts'
import type { PromptMode, PromptPart } from '../../../contract/prompts.ts'
import type { Caller } from '../../http/caller.ts'
import { AppError, notFound } from '../../platform/errors.ts'
import { newId } from '../../platform/ids.ts'
import { stopped } from '../../runtimes/runtime.ts'
import type { PreparedParts } from '../files/prompt-files.ts'
import type { Appended, EventLog } from '../log/event-log.ts'
import { type Queryable, withId } from '../log/event-store.ts'
import type { SessionStore } from '../session-store.ts'
import type { PauseStore } from '../waits/pause-store.ts'
import type { SubagentStore } from '../waits/subagent-store.ts'
import { promptsEnded } from './prompt-ended.ts'
import type { Accepted, AcquiredAtOnce, PromptStore } from './prompt-store.ts'
import type { WakeUps } from './wake-ups.ts'

/** A prompt of a caller whose files are stored. */
export interface PromptWrite {
  readonly parts: readonly PromptPart[]
  readonly model: string
  readonly system?: string | undefined
  readonly mode?: PromptMode | undefined
  /** JSON schema of the answer, already validated. */
  readonly outputSchema?: Readonly<Record<string, unknown>> | undefined
  /** The outcome that its run has to reach; the parts then include the rubric. */
  readonly outcome?: Outcome | undefined
  readonly messageId?: string | undefined
  /** Adds the files among the parts to the session, in the transaction that queues the prompt. */
  readonly attach?: PreparedParts['attach'] | undefined
}

/** A request to compact the conversation. It waits in the queue like a prompt. */
export interface CompactTarget {
  readonly id: string
  readonly caller: Caller
  readonly model: string
  readonly mode: 'enqueue' | 'reject'
}

export interface Halt {
  /** Keys whose prompts are stopped; undefined stops all. */
  readonly keyIds: readonly string[] | undefined
  readonly reason: string | undefined
}

/** Numbers of stopped runs and cancelled prompts. */
export interface Halted {
  readonly runs: number
  readonly prompts: number
}

export interface PromptTarget {
  readonly id: string
  readonly caller: Caller
  readonly prompt: PromptWrite
}

interface Deps {
  readonly pool: Pool
  readonly store: SessionStore
  readonly prompts: PromptStore
  readonly pauses: PauseStore
  readonly eventLog: EventLog
  readonly wakeUps: Pick<WakeUps, 'send'>
  /** Calls of agents by the session. */
  readonly calls: Pick<SubagentStore, 'workingFor'>
  /** Runs sessions in this process; undefined when only other processes do. */
  readonly taker: Taker | undefined
}

/** Accepts sessions to run at the moment their prompt is stored. */
export interface Taker {
  /** Offers a slot for a session whose prompt is being stored; undefined when none is free. */
  offer(sessionId: string): Offer | undefined
}

export interface Offer {
  /** The process that acquires the session. */
  readonly owner: string
  /**
   * Must be called once: with undefined when the session was not acquired, `unknown` when the database did not answer.
   */
  settle(acquired: AcquiredAtOnce | 'unknown' | undefined): void
}

const maxWaiting = 100

/**
 * Writes to the queue of a session. All methods except `accept` and `enqueue` require a transaction that has locked the
 * session. All except `accept` add their events to `unpublished`.
 */
export type PromptQueue = ReturnType<typeof createPromptQueue>

export function createPromptQueue({ pool, store, prompts, pauses, eventLog, wakeUps, calls, taker }: Deps) {
  /** Requests that the owner stops the running prompt, or cancels the paused one, and logs that. */
  async function requestStop(client: Queryable, sessionId: string, unpublished: Appended[]): Promise<void> {
    if (await prompts.requestStop(client, sessionId)) {
      unpublished.push(await eventLog.appendByCaller(client, sessionId, [{ type: 'user.interrupt' }]))
      store.notifyOwner(client, sessionId)
      // A waiting prompt has no owner: the next owner ends it.
      await store.setDue(client, sessionId)
      wakeUps.send(client, sessionId)
    } else await cancelPaused(client, unpublished, sessionId)
    await haltCalled(
      client,
      sessionId,
      { keyIds: undefined, reason: 'the calling session was interrupted' },
      unpublished,
    )
  }

  /** Stops the sessions of agents that the session has called. Sessions are locked from the top down. */
  async function haltCalled(client: Queryable, sessionId: string, what: Halt, unpublished: Appended[]): Promise<void> {
    for (const id of await calls.workingFor(client, sessionId)) {
      const session = await store.lock(client, id)
      if (session && !session.deleted_at) await halt(client, id, what, unpublished)
    }
  }

  async function halt(client: Queryable, sessionId: string, what: Halt, unpublished: Appended[]): Promise<Halted> {
    const { keyIds, reason } = what
    const isRunning = await prompts.requestStop(client, sessionId, keyIds)
    const cancelled = await prompts.cancelWaiting(client, sessionId, keyIds)
    if (!isRunning && cancelled.length === 0) return { runs: 0, prompts: 0 }
    const interrupt: NewEvent = { type: 'user.interrupt', ...(reason !== undefined && { reason }) }
    const ends = promptsEnded(cancelled, { state: 'cancelled', reason: 'interrupted' })
    unpublished.push(await eventLog.appendByCaller(client, sessionId, [interrupt, ...ends]))
    if (isRunning) store.notifyOwner(client, sessionId)
    await store.setDue(client, sessionId)
    wakeUps.send(client, sessionId)
    await haltCalled(client, sessionId, what, unpublished)
    return { runs: isRunning ? 1 : 0, prompts: cancelled.length }
  }

  /**
   * Cancels the paused prompts of the session, or only `promptId`; later ones continue. Returns false when there is
   * none.
   */
  async function cancelPaused(
    client: Queryable,
    unpublished: Appended[],
    sessionId: string,
    promptId?: string,
  ): Promise<boolean> {
    const [first, ...joined] = await pauses.cancel(client, sessionId, promptId)
    if (first === undefined) return false
    const others = joined.map(id => ({ id, run_id: null }))
    const ends = promptsEnded(others, { state: 'cancelled', reason: 'interrupted' })
    // Its run ended when the budget stopped it.
    const events: NewEvent[] = [{ type: 'user.interrupt' }, ...ends, { ...stopped, prompt_id: first, run_id: null }]
    unpublished.push(await eventLog.appendByCaller(client, sessionId, events))
    await store.setDue(client, sessionId)
    wakeUps.send(client, sessionId)
    return true
  }

  /**
   * Stops the running prompt for one that interrupts, and logs the outcome of one that has one. Returns the id of the
   * prompt that was queued under the same message id before; then nothing is done.
   */
  async function beginBefore(
    on: Queryable,
    { target: { id: sessionId, prompt }, id }: { readonly target: PromptTarget; readonly id: string },
    unpublished: Appended[],
  ): Promise<string | undefined> {
    const { messageId, mode, outcome } = prompt
    if (mode !== 'interrupt' && !outcome) return undefined
    await store.lock(on, sessionId)
    const before = messageId === undefined ? undefined : await prompts.withMessageId(on, sessionId, messageId)
    if (before !== undefined) return before
    if (mode === 'interrupt') await requestStop(on, sessionId, unpublished)
    if (outcome) unpublished.push(await eventLog.appendByCaller(on, sessionId, [outcomeDefined(outcome, id)]))
    return undefined
  }

  return {
    requestStop,

    /** Cancels a prompt that waits in the queue or for its budget. */
    async withdraw(client: Queryable, sessionId: string, promptId: string, unpublished: Appended[]): Promise<void> {
      if (await cancelPaused(client, unpublished, sessionId, promptId)) return
      const state = await prompts.withdraw(client, sessionId, promptId)
      if (state === undefined) throw notFound('prompt', promptId)
      if (state !== 'waiting')
        throw new AppError('conflict', `prompt ${promptId} is ${state}; only a waiting one can be withdrawn`)
      const ends = promptsEnded([{ id: promptId, run_id: null }], { state: 'cancelled', reason: 'withdrawn' })
      unpublished.push(await eventLog.appendByCaller(client, sessionId, ends))
    },

    /**
     * Requests the end of the run and cancels waiting prompts, optionally only of `keyIds`, also in the sessions of
     * called agents. Returns the number of each in this session.
     */
    halt,

    /** Cancels all prompts of a deleted session and appends its last event. */
    async close(client: Queryable, sessionId: string, unpublished: Appended[]): Promise<void> {
      const cancelled = await prompts.cancelAll(client, sessionId)
      const ends = promptsEnded(cancelled, { state: 'cancelled', reason: 'deleted' })
      unpublished.push(await eventLog.appendByCaller(client, sessionId, [...ends, { type: 'session.deleted' }]))
    },

    /**
     * Queues a prompt with a separate statement and publishes its events. The same statement starts the run when the
     * session is idle and this process has a free slot. Returns the prompt's id, also when the same message was queued
     * before.
     */
    async accept({ id: sessionId, caller, prompt }: PromptTarget): Promise<string> {
      const { given, message } = newPrompt(sessionId, caller, prompt)
      const offer = taker?.offer(sessionId)
      let acquired: AcquiredAtOnce | 'unknown' | undefined = 'unknown'
      try {
        const accepted = await prompts.accept(pool, given, { message, maxWaiting, taker: offer?.owner })
        acquired = accepted.acquired
        const { outcome, promptId, events } = accepted
        const rejection = rejections[outcome]
        if (rejection) throw rejection()
        if (outcome === 'known') return promptId
        eventLog.publish({ sessionId, events })
        if (!acquired) wakeUps.send(pool, sessionId)
        return given.id
      } finally {
        offer?.settle(acquired)
      }
    },

    /**
     * Queues a prompt and notifies the runners, with one statement. A prompt that interrupts, or has a schema, an outcome
     * or files, needs a transaction. Returns the prompt's id, also when the same message was queued before.
     */
    async enqueue(on: Queryable, target: PromptTarget, unpublished: Appended[]): Promise<string> {
      const { id: sessionId, caller, prompt } = target
      const { given, message } = newPrompt(sessionId, caller, prompt)
      const { id } = given
      const before = await beginBefore(on, { target, id }, unpublished)
      if (before !== undefined) return before
      const accepted = await prompts.accept(on, given, { message, maxWaiting })
      const rejection = rejections[accepted.outcome]
      if (rejection) throw rejection()
      if (accepted.outcome === 'known') return accepted.promptId
      if (prompt.outputSchema) await prompts.setOutputSchema(on, id, prompt.outputSchema)
      if (prompt.outcome) await prompts.setOutcome(on, id, prompt.outcome)
      await prompt.attach?.(on, sessionId)
      unpublished.push({ sessionId, events: accepted.events })
      wakeUps.send(on, sessionId)
      return id
    },

    /** Queues a compaction inside a transaction. Returns the id of its queue entry. */
    async enqueueCompaction(client: Queryable, target: CompactTarget, unpublished: Appended[]): Promise<string> {
      const { id: sessionId, caller, model, mode } = target
      const id = newId('msg')
      const by = { principal: caller.principal, keyId: caller.key?.id, trace: caller.trace }
      const given = { id, sessionId, parts: [], model, system: undefined, mode, messageId: undefined, ...by }
      const message = withId({ type: 'user.compact', prompt_id: id, model })
      const { outcome, events } = await prompts.accept(client, given, { message, maxWaiting })
      const rejection = rejections[outcome]
      if (rejection) throw rejection()
      await prompts.setKind(client, id, 'compact')
      unpublished.push({ sessionId, events })
      wakeUps.send(client, sessionId)
      return id
    },
  }
}

/** Builds the prompt to store and its message for the log. */
function newPrompt(sessionId: string, { principal, key, trace }: Caller, prompt: PromptWrite) {
  const { parts, model, system, messageId, mode = 'enqueue' } = prompt
  const id = newId('msg')
  const message = withId({ type: 'user.message', content: parts, prompt_id: id, model })
  return { given: { id, sessionId, parts, model, system, mode, messageId, principal, keyId: key?.id, trace }, message }
}

/** Event of the outcome of a prompt; its message follows. */
const outcomeDefined = ({ rubric, ...outcome }: Outcome, prompt_id: string): NewEvent => ({
  type: 'user.define_outcome',
  ...outcome,
  rubric: { type: 'text', content: rubric },
  prompt_id,
})

const rejections: Partial<Record<Accepted['outcome'], () => AppError>> = {
  gone: () => new AppError('not_found', 'session not found'),
  archived: () => new AppError('conflict', 'session is archived and accepts no more prompts'),
  busy: () => new AppError('conflict', 'session is busy; wait until it is idle or use another mode'),
  full: () =>
    new AppError('rate_limited', `session queue is full (${maxWaiting} prompts); retry after 5 s`, {
      headers: { 'retry-after': '5' },
    }),
}
