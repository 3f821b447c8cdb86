import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Caller } from '../../http/caller.ts'
import { type AppError, DatabaseUnavailable } from '../../platform/errors.ts'
import { createPromptQueue, type Offer } from './prompt-queue.ts'
import type { Accepted, AcquiredAtOnce, PromptStore } from './prompt-store.ts'

const caller = { principal: 'ana', key: undefined } as unknown as Caller
const target = { id: 'ses_1', caller, prompt: { parts: [], model: 'demo' } }
const acquired = { sessionId: 'ses_1', fence: 1 } as AcquiredAtOnce
const accepted: Accepted = { outcome: 'accepted', promptId: 'msg_1', events: [], acquired: undefined }

/** A queue whose prompts `accept` stores. Records what it settled, published and woke. */
function queueOver(accept: (taker: string | undefined) => Promise<Accepted>, hasRoom = true) {
  const settled: Parameters<Offer['settle']>[0][] = []
  const said: string[] = []
  const prompts = {
    accept: (_on: unknown, _prompt: unknown, { taker }: { readonly taker?: string }) => accept(taker),
  }
  const queue = createPromptQueue({
    pool: undefined as never,
    store: undefined as never,
    pauses: undefined as never,
    prompts: prompts as unknown as PromptStore,
    eventLog: { publish: () => void said.push('told') } as never,
    wakeUps: { send: () => void said.push('woken') },
    calls: { workingFor: async () => [] },
    taker: {
      offer: () => (hasRoom ? { owner: 'me', settle: given => void settled.push(given) } : undefined),
    },
  })
  return { queue, settled, said }
}

test('a session acquired with its prompt is passed on after its events are published, without a wake-up', async () => {
  const { queue, settled, said } = queueOver(async taker => ({ ...accepted, ...(taker === 'me' && { acquired }) }))
  await queue.accept(target)
  assert.deepEqual([settled, said], [[acquired], ['told']])
})

test('the session is woken when no slot is free or another process runs it', async () => {
  const full = queueOver(async () => accepted, false)
  await full.queue.accept(target)
  assert.deepEqual([full.settled, full.said], [[], ['told', 'woken']])
  const busy = queueOver(async () => accepted)
  await busy.queue.accept(target)
  assert.deepEqual([busy.settled, busy.said], [[undefined], ['told', 'woken']])
})

test('a rejected prompt frees the offered slot', async () => {
  const { queue, settled, said } = queueOver(async () => ({ ...accepted, outcome: 'full' }))
  await assert.rejects(queue.accept(target), (error: AppError) => error.code === 'rate_limited')
  assert.deepEqual([settled, said], [[undefined], []])
})

test('the offer settles as unknown when the database did not answer', async () => {
  const { queue, settled } = queueOver(async () => {
    throw new DatabaseUnavailable('the connection was lost', undefined)
  })
  await assert.rejects(queue.accept(target), DatabaseUnavailable)
  assert.deepEqual(settled, ['unknown'])
})
