import type { PoolClient } from 'pg'
import type { PromptMode, PromptPart } from '../../contract/sessions.ts'
import type { Caller } from '../http/caller.ts'
import { AppError } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import type { Appended, EventLog } from './event-log.ts'
import type { PromptStore, QueueFacts } from './prompt-store.ts'
import type { SessionStore } from './session-store.ts'
import type { WakeUps } from './wake-ups.ts'

/** A prompt as a caller sends it. */
export interface PromptWrite {
  readonly parts: readonly PromptPart[]
  readonly model: string
  readonly system?: string | undefined
  readonly mode?: PromptMode | undefined
  readonly messageId?: string | undefined
}

export interface PromptTarget {
  readonly id: string
  readonly caller: Caller
  readonly prompt: PromptWrite
}

interface Deps {
  readonly store: SessionStore
  readonly prompts: PromptStore
  readonly eventLog: EventLog
  readonly wakeUps: Pick<WakeUps, 'send'>
}

const maxWaiting = 100

/** The writing end of a session's queue. Both calls work inside a transaction and push their events to `told`. */
export type PromptQueue = ReturnType<typeof createPromptQueue>

export function createPromptQueue({ store, prompts, eventLog, wakeUps }: Deps) {
  /** Asks the owner of the running prompt to stop it, and records that. */
  async function requestStop(client: PoolClient, sessionId: string, told: Appended[]): Promise<void> {
    if (!(await prompts.requestStop(client, sessionId))) return
    told.push(await eventLog.appendByCaller(client, sessionId, [{ type: 'user.interrupt' }]))
    await store.notifyOwner(client, sessionId)
  }

  return {
    requestStop,

    /** Queues a prompt and announces it. Its id, also when the same message was queued before. */
    async enqueue(client: PoolClient, target: PromptTarget, told: Appended[]): Promise<string> {
      const { id: sessionId, caller, prompt } = target
      const session = await store.lock(client, sessionId)
      if (!session || session.deleted_at) throw new AppError('not_found', 'session not found')
      const { parts, model, system, messageId, mode = 'enqueue' } = prompt
      const before = messageId === undefined ? undefined : await prompts.withMessageId(client, sessionId, messageId)
      if (before !== undefined) return before

      const facts = await prompts.facts(client, sessionId)
      checkRoom(facts, mode)
      const id = newId('msg')
      // An interrupting prompt goes before those that wait.
      const first = mode === 'interrupt' ? facts.first_position : null
      const position = first === null ? session.next_position : first - 1
      const { principal } = caller
      await prompts.insert(client, { id, sessionId, position, parts, model, system, mode, messageId, principal })
      if (first === null) await store.advancePosition(client, sessionId)
      if (mode === 'interrupt') await requestStop(client, sessionId, told)
      const message = { type: 'user.message', content: parts, prompt_id: id, model }
      told.push(await eventLog.appendByCaller(client, sessionId, [message]))
      await wakeUps.send(client, sessionId)
      return id
    },
  }
}

function checkRoom({ waiting, running }: QueueFacts, mode: PromptMode): void {
  if (mode === 'reject' && waiting + running > 0) {
    throw new AppError('conflict', 'the session is busy; wait for it, or send another mode')
  }
  if (waiting >= maxWaiting) {
    throw new AppError('rate_limited', `${maxWaiting} prompts wait in this session; wait until one has run`, {
      headers: { 'retry-after': '5' },
    })
  }
}
