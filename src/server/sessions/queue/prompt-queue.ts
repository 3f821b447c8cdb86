import type { Pool } from 'pg'
import type { PromptMode, PromptPart } from '../../../contract/prompts.ts'
import type { Caller } from '../../http/caller.ts'
import { AppError, notFound } from '../../platform/errors.ts'
import { newId } from '../../platform/ids.ts'
import { stopped } from '../../runtimes/runtime.ts'
import type { Appended, EventLog } from '../log/event-log.ts'
import { type Queryable, withId } from '../log/event-store.ts'
import type { SessionStore } from '../session-store.ts'
import type { PauseStore } from '../waits/pause-store.ts'
import { promptsEnded } from './prompt-ended.ts'
import type { Accepted, PromptStore, TakenAtOnce } from './prompt-store.ts'
import type { WakeUps } from './wake-ups.ts'

/** A prompt as a caller sends it. */
export interface PromptWrite {
  readonly parts: readonly PromptPart[]
  readonly model: string
  readonly system?: string | undefined
  readonly mode?: PromptMode | undefined
  /** What the answer has to fit; checked already. */
  readonly outputSchema?: Readonly<Record<string, unknown>> | undefined
  readonly messageId?: string | undefined
}

/** A request to compact the conversation: it waits in line as a prompt does. */
export interface CompactTarget {
  readonly id: string
  readonly caller: Caller
  readonly model: string
  readonly mode: 'enqueue' | 'reject'
}

interface Paused {
  readonly sessionId: string
  readonly promptId?: string
}

export interface Halt {
  /** Those that queued the prompts that are meant; undefined: all. */
  readonly keyIds: readonly string[] | undefined
  readonly reason: string | undefined
}

/** What a kill switch has stopped. */
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
  /** Runs sessions in this process; undefined: others do. */
  readonly taker: Taker | undefined
}

/** Whoever runs sessions in this process, as far as prompts are handed to it at once. */
export interface Taker {
  /** A place for a session of which a prompt is being stored; undefined when there is none. */
  offer(sessionId: string): Offer | undefined
}

export interface Offer {
  /** The process that takes it. */
  readonly owner: string
  /** Call it once, in any case: with undefined when the session was not taken, `unknown` when the database did not say. */
  settle(taken: TakenAtOnce | 'unknown' | undefined): void
}

const maxWaiting = 100

/**
 * The writing end of a session's queue. All calls work inside a transaction that has locked the session, but for `accept` and
 * `enqueue`, and push their events to `told`, but for `accept`.
 */
export type PromptQueue = ReturnType<typeof createPromptQueue>

export function createPromptQueue({ pool, store, prompts, pauses, eventLog, wakeUps, taker }: Deps) {
  /** Asks the owner of the running prompt to stop it, or cancels the paused one, and records that. */
  async function requestStop(client: Queryable, sessionId: string, told: Appended[]): Promise<void> {
    if (await prompts.requestStop(client, sessionId)) {
      told.push(await eventLog.appendByCaller(client, sessionId, [{ type: 'user.interrupt' }]))
      store.notifyOwner(client, sessionId)
      // Nobody owns one that waits: whoever takes it ends it.
      await store.setDue(client, sessionId)
      wakeUps.send(client, sessionId)
    } else await cancelPaused(client, { sessionId }, told)
  }

  /** Cancels what a budget has stopped, or only the prompt named; those behind it go on. False when there is none. */
  async function cancelPaused(client: Queryable, { sessionId, promptId }: Paused, told: Appended[]): Promise<boolean> {
    const [first, ...joined] = await pauses.cancel(client, sessionId, promptId)
    if (first === undefined) return false
    const others = joined.map(id => ({ id, run_id: null }))
    const ends = promptsEnded(others, { state: 'cancelled', reason: 'interrupted' })
    // Its run ended when the budget stopped it.
    const events = [{ type: 'user.interrupt' }, ...ends, { ...stopped, prompt_id: first, run_id: null }]
    told.push(await eventLog.appendByCaller(client, sessionId, events))
    await store.setDue(client, sessionId)
    wakeUps.send(client, sessionId)
    return true
  }

  return {
    requestStop,

    /** Cancels a prompt that waits in line, or for its budget. */
    async withdraw(client: Queryable, sessionId: string, promptId: string, told: Appended[]): Promise<void> {
      if (await cancelPaused(client, { sessionId, promptId }, told)) return
      const state = await prompts.withdraw(client, sessionId, promptId)
      if (state === undefined) throw notFound('prompt', promptId)
      if (state !== 'waiting')
        throw new AppError('conflict', `prompt ${promptId} is ${state}; only a waiting one can be withdrawn`)
      const ends = promptsEnded([{ id: promptId, run_id: null }], { state: 'cancelled', reason: 'withdrawn' })
      told.push(await eventLog.appendByCaller(client, sessionId, ends))
    },

    /** Asks for the end of the run, and cancels what waits; of these keys alone, where they are given. How many of each. */
    async halt(client: Queryable, sessionId: string, { keyIds, reason }: Halt, told: Appended[]): Promise<Halted> {
      const isRunning = await prompts.requestStop(client, sessionId, keyIds)
      const cancelled = await prompts.cancelWaiting(client, sessionId, keyIds)
      if (!isRunning && cancelled.length === 0) return { runs: 0, prompts: 0 }
      const interrupt = { type: 'user.interrupt', ...(reason !== undefined && { reason }) }
      const ends = promptsEnded(cancelled, { state: 'cancelled', reason: 'interrupted' })
      told.push(await eventLog.appendByCaller(client, sessionId, [interrupt, ...ends]))
      if (isRunning) store.notifyOwner(client, sessionId)
      await store.setDue(client, sessionId)
      wakeUps.send(client, sessionId)
      return { runs: isRunning ? 1 : 0, prompts: cancelled.length }
    },

    /** Cancels everything of a session that is deleted, and appends its last event. */
    async close(client: Queryable, sessionId: string, told: Appended[]): Promise<void> {
      const cancelled = await prompts.cancelAll(client, sessionId)
      const ends = promptsEnded(cancelled, { state: 'cancelled', reason: 'deleted' })
      told.push(await eventLog.appendByCaller(client, sessionId, [...ends, { type: 'session.deleted' }]))
    },

    /**
     * Queues a prompt in a statement of its own, and tells the readers. Its run begins with that statement where nothing else is to
     * do in the session, and this process has room. The prompt's id, also when the same message was queued before.
     */
    async accept({ id: sessionId, caller, prompt }: PromptTarget): Promise<string> {
      const { given, message } = newPrompt(sessionId, caller, prompt)
      const offer = taker?.offer(sessionId)
      let taken: TakenAtOnce | 'unknown' | undefined = 'unknown'
      try {
        const accepted = await prompts.accept(pool, given, { message, mostWaiting: maxWaiting, taker: offer?.owner })
        taken = accepted.taken
        const { outcome, promptId, events } = accepted
        const refusal = refusals[outcome]
        if (refusal) throw refusal()
        if (outcome === 'known') return promptId
        eventLog.tell({ sessionId, events })
        if (!taken) wakeUps.send(pool, sessionId)
        return given.id
      } finally {
        offer?.settle(taken)
      }
    },

    /**
     * Queues a prompt and announces it, in one statement unless it interrupts or has a schema: then inside a transaction. Its id,
     * also when the same message was queued before.
     */
    async enqueue(on: Queryable, target: PromptTarget, told: Appended[]): Promise<string> {
      const { id: sessionId, caller, prompt } = target
      const { messageId, outputSchema } = prompt
      const { given, message } = newPrompt(sessionId, caller, prompt)
      const { id } = given
      if (given.mode === 'interrupt') {
        await store.lock(on, sessionId)
        const before = messageId === undefined ? undefined : await prompts.withMessageId(on, sessionId, messageId)
        if (before !== undefined) return before
        await requestStop(on, sessionId, told)
      }
      const { outcome, promptId, events } = await prompts.accept(on, given, { message, mostWaiting: maxWaiting })
      const refusal = refusals[outcome]
      if (refusal) throw refusal()
      if (outcome === 'known') return promptId
      if (outputSchema) await prompts.setOutputSchema(on, id, outputSchema)
      told.push({ sessionId, events })
      wakeUps.send(on, sessionId)
      return id
    },

    /** Queues a request to compact the conversation, inside a transaction; the id of its place in the queue. */
    async enqueueCompaction(client: Queryable, target: CompactTarget, told: Appended[]): Promise<string> {
      const { id: sessionId, caller, model, mode } = target
      const id = newId('msg')
      const by = { principal: caller.principal, keyId: caller.key?.id }
      const given = { id, sessionId, parts: [], model, system: undefined, mode, messageId: undefined, ...by }
      const message = withId({ type: 'user.compact', prompt_id: id, model })
      const { outcome, events } = await prompts.accept(client, given, { message, mostWaiting: maxWaiting })
      const refusal = refusals[outcome]
      if (refusal) throw refusal()
      await prompts.setKind(client, id, 'compact')
      told.push({ sessionId, events })
      wakeUps.send(client, sessionId)
      return id
    },
  }
}

/** The prompt as it is stored, and its message in the log. */
function newPrompt(sessionId: string, { principal, key }: Caller, prompt: PromptWrite) {
  const { parts, model, system, messageId, mode = 'enqueue' } = prompt
  const id = newId('msg')
  const message = withId({ type: 'user.message', content: parts, prompt_id: id, model })
  return { given: { id, sessionId, parts, model, system, mode, messageId, principal, keyId: key?.id }, message }
}

const refusals: Partial<Record<Accepted['outcome'], () => AppError>> = {
  gone: () => new AppError('not_found', 'session not found'),
  archived: () => new AppError('conflict', 'the session is archived; it takes no more prompts'),
  busy: () => new AppError('conflict', 'the session is busy; wait for it, or send another mode'),
  full: () =>
    new AppError('rate_limited', `${maxWaiting} prompts wait in this session; wait until one has run`, {
      headers: { 'retry-after': '5' },
    }),
}
