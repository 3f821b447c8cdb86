import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from '../../../test/support/database.ts'
import { storedPrompt, storedSession } from '../../../test/support/session-rows.ts'
import { promptStore } from './prompt-store.ts'

const { pool } = await freshDatabase()
const prompts = promptStore(pool)

const statesOf = async (sessionId: string) =>
  (await prompts.list(sessionId, { after: undefined, limit: 100 })).map(({ state }) => state)

test('prompts come in the order of their positions, one that was cut off before all', async () => {
  const sessionId = await storedSession(pool)
  const third = await storedPrompt(pool, sessionId, { position: 3 })
  const first = await storedPrompt(pool, sessionId, { position: 1 })
  assert.equal((await prompts.next(sessionId))?.id, first)
  await prompts.start(pool, third, 'run_1')
  assert.equal((await prompts.next(sessionId))?.id, third)
  await prompts.finish(pool, sessionId, 'done')
  assert.equal((await prompts.next(sessionId))?.id, first)
})

test('the end of a run ends the prompts that run, and leaves those that wait', async () => {
  const sessionId = await storedSession(pool)
  const first = await storedPrompt(pool, sessionId, { position: 1 })
  await storedPrompt(pool, sessionId, { position: 2 })
  await prompts.start(pool, first, 'run_1')
  await prompts.finish(pool, sessionId, 'error')
  assert.deepEqual(await statesOf(sessionId), ['error', 'waiting'])
  assert.deepEqual(await prompts.facts(pool, sessionId), {
    waiting: 1,
    running: 0,
    first_position: 2,
    is_archived: false,
  })
})

test('prompts that steer join the run of the session’s owner, and of nobody else', async () => {
  const sessionId = await storedSession(pool)
  const first = await storedPrompt(pool, sessionId, { position: 1 })
  const steering = await storedPrompt(pool, sessionId, { position: 2, mode: 'steer' })
  await storedPrompt(pool, sessionId, { position: 3 })
  await prompts.start(pool, first, 'run_1')
  assert.deepEqual(
    (await prompts.join({ sessionId, fence: 9 }, 'run_1')).map(({ id }) => id),
    [first],
  )
  assert.deepEqual(
    (await prompts.join({ sessionId, fence: 0 }, 'run_1')).map(({ id }) => id),
    [first, steering],
  )
  await prompts.finish(pool, sessionId, 'done')
  assert.deepEqual(await statesOf(sessionId), ['done', 'done', 'waiting'])
})

test('a deletion cancels what waits and what runs, and nothing that has ended', async () => {
  const sessionId = await storedSession(pool)
  for (const position of [1, 2, 3]) await storedPrompt(pool, sessionId, { position })
  const [first] = await prompts.list(sessionId, { after: undefined, limit: 1 })
  await prompts.start(pool, first?.id ?? '', 'run_1')
  await prompts.finish(pool, sessionId, 'done')
  await prompts.start(pool, (await prompts.next(sessionId))?.id ?? '', 'run_2')
  await prompts.cancelAll(pool, sessionId)
  assert.deepEqual(await statesOf(sessionId), ['done', 'cancelled', 'cancelled'])
})

test('a stop is requested once, and only of what runs', async () => {
  const sessionId = await storedSession(pool)
  const id = await storedPrompt(pool, sessionId, { position: 1 })
  assert.equal(await prompts.requestStop(pool, sessionId), false)
  await prompts.start(pool, id, 'run_1')
  assert.deepEqual(await prompts.stopRequests([{ sessionId, fence: 0 }]), [])
  assert.equal(await prompts.requestStop(pool, sessionId), true)
  assert.equal(await prompts.requestStop(pool, sessionId), false)
  assert.deepEqual(await prompts.stopRequests([{ sessionId, fence: 0 }]), [{ session_id: sessionId, run_id: 'run_1' }])
})

test('only a waiting prompt can be withdrawn', async () => {
  const sessionId = await storedSession(pool)
  const id = await storedPrompt(pool, sessionId, { position: 1 })
  const client = await pool.connect()
  assert.equal(await prompts.withdraw(client, sessionId, id), 'waiting')
  assert.equal(await prompts.withdraw(client, sessionId, id), 'cancelled')
  assert.equal(await prompts.withdraw(client, sessionId, 'msg_unknown'), undefined)
  assert.equal(await prompts.withdraw(client, await storedSession(pool), id), undefined, 'of another session')
  client.release()
  assert.deepEqual(await statesOf(sessionId), ['cancelled'])
})

test('one message id can be queued once in a session, and again in another one', async () => {
  const [one, other] = [await storedSession(pool), await storedSession(pool)]
  const prompt = {
    position: 1,
    parts: [],
    model: 'demo',
    system: undefined,
    mode: 'enqueue',
    principal: 'ada',
    keyId: undefined,
  } as const
  await prompts.insert(pool, { ...prompt, id: 'msg_a', sessionId: one, messageId: 'mine' })
  await prompts.insert(pool, { ...prompt, id: 'msg_b', sessionId: other, messageId: 'mine' })
  assert.equal(await prompts.withMessageId(pool, one, 'mine'), 'msg_a')
  const again = prompts.insert(pool, { ...prompt, id: 'msg_c', sessionId: one, position: 2, messageId: 'mine' })
  await assert.rejects(again, /duplicate key/)
})
