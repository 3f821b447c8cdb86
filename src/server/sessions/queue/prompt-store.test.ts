import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from '../../../../test/support/service/database.ts'
import {
  finishPrompts,
  startPrompt,
  storedPrompt,
  storedSession,
} from '../../../../test/support/sessions/session-rows.ts'
import { newId } from '../../platform/ids.ts'
import { withId } from '../log/event-store.ts'
import { type NewPrompt, promptStore } from './prompt-store.ts'

const { pool } = await freshDatabase()
const prompts = promptStore(pool)

const statesOf = async (sessionId: string) =>
  (await prompts.list(sessionId, { after: undefined, limit: 100 })).map(({ state }) => state)

test('prompts run in the order of their positions, an interrupted one first', async () => {
  const sessionId = await storedSession(pool)
  const third = await storedPrompt(pool, sessionId, { position: 3 })
  const first = await storedPrompt(pool, sessionId, { position: 1 })
  assert.equal((await prompts.next(sessionId))?.id, first)
  await startPrompt(pool, third, 'run_1')
  assert.equal((await prompts.next(sessionId))?.id, third)
  await finishPrompts(pool, sessionId, 'done')
  assert.equal((await prompts.next(sessionId))?.id, first)
})

test('steering prompts join only the run of the session’s owner', async () => {
  const sessionId = await storedSession(pool)
  const first = await storedPrompt(pool, sessionId, { position: 1 })
  const steering = await storedPrompt(pool, sessionId, { position: 2, mode: 'steer' })
  await storedPrompt(pool, sessionId, { position: 3 })
  await startPrompt(pool, first, 'run_1')
  assert.deepEqual(
    (await prompts.join({ sessionId, fence: 9 }, 'run_1')).map(({ id }) => id),
    [first],
  )
  assert.deepEqual(
    (await prompts.join({ sessionId, fence: 0 }, 'run_1')).map(({ id }) => id),
    [first, steering],
  )
  await finishPrompts(pool, sessionId, 'done')
  assert.deepEqual(await statesOf(sessionId), ['done', 'done', 'waiting'])
})

test('a deletion cancels waiting and running prompts, but not ended ones', async () => {
  const sessionId = await storedSession(pool)
  for (const position of [1, 2, 3]) await storedPrompt(pool, sessionId, { position })
  const [first] = await prompts.list(sessionId, { after: undefined, limit: 1 })
  await startPrompt(pool, first?.id ?? '', 'run_1')
  await finishPrompts(pool, sessionId, 'done')
  await startPrompt(pool, (await prompts.next(sessionId))?.id ?? '', 'run_2')
  await prompts.cancelAll(pool, sessionId)
  assert.deepEqual(await statesOf(sessionId), ['done', 'cancelled', 'cancelled'])
})

test('a stop is requested once, and only of a running prompt', async () => {
  const sessionId = await storedSession(pool)
  const id = await storedPrompt(pool, sessionId, { position: 1 })
  assert.equal(await prompts.requestStop(pool, sessionId), false)
  await startPrompt(pool, id, 'run_1')
  assert.deepEqual(await prompts.controlRequests([{ sessionId, fence: 0 }]), [])
  assert.equal(await prompts.requestStop(pool, sessionId), true)
  assert.equal(await prompts.requestStop(pool, sessionId), false)
  assert.deepEqual(await prompts.controlRequests([{ sessionId, fence: 0 }]), [
    { session_id: sessionId, run_id: 'run_1' },
  ])
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

const given = {
  parts: [],
  model: 'demo',
  system: undefined,
  mode: 'enqueue',
  principal: 'ada',
  keyId: undefined,
} as const
const message = () => withId({ type: 'user.message', content: [{ type: 'text', text: 'with \u0000 in it' }] })
const accept = (sessionId: string, more: Partial<NewPrompt> = {}, maxWaiting = 100, taker?: string) => {
  const prompt = { ...given, id: newId('msg'), sessionId, messageId: undefined, ...more }
  return prompts.accept(pool, prompt, { message: message(), maxWaiting, taker })
}

test('a message id is queued once per session, and again in another session', async () => {
  const [one, other] = [await storedSession(pool), await storedSession(pool)]
  const first = await accept(one, { messageId: 'mine' })
  assert.deepEqual([first.outcome, first.events.map(({ seq }) => seq)], ['accepted', [1]])
  const again = await Promise.all([1, 2].map(() => accept(one, { messageId: 'mine' })))
  assert.deepEqual(
    again.map(({ outcome, promptId, events }) => [outcome, promptId, events]),
    again.map(() => ['known', first.promptId, []]),
  )
  assert.equal((await accept(other, { messageId: 'mine' })).outcome, 'accepted')
})

test('a prompt is rejected when the queue is full, or the session is busy, archived or missing', async () => {
  const id = await storedSession(pool)
  await accept(id)
  await accept(id)
  const outcomes = async (sessionId: string, more: Partial<NewPrompt>, most?: number) =>
    (await accept(sessionId, more, most)).outcome
  assert.equal(await outcomes(id, { mode: 'reject' }), 'busy')
  assert.equal(await outcomes(id, {}, 2), 'full')
  assert.equal(await outcomes('ses_none', {}), 'gone')
  assert.deepEqual(await statesOf(id), ['waiting', 'waiting'])
})

test('an interrupting prompt precedes waiting ones, and every prompt makes its session due', async () => {
  const id = await storedSession(pool)
  const isDue = async () =>
    (await pool.query('select from sessions where id = $1 and due_at <= clock_timestamp()', [id])).rowCount === 1
  assert.equal(await isDue(), false)
  const [{ promptId: second }, { promptId: first }] = [await accept(id), await accept(id, { mode: 'interrupt' })]
  assert.equal(await isDue(), true)
  const queue = await prompts.list(id, { after: undefined, limit: 10 })
  assert.deepEqual(
    queue.map(prompt => prompt.id),
    [first, second],
  )
})

test('storing the only prompt of a session acquires the session and starts the run', async () => {
  const id = await storedSession(pool)
  const { events, acquired, promptId } = await accept(id, {}, 100, 'me')
  assert.deepEqual(
    events.map(({ seq, type, prompt_id, run_id }) => [seq, type, prompt_id, run_id]),
    [
      [1, 'user.message', undefined, undefined],
      [2, 'session.status_running', promptId, acquired?.first.run_id],
    ],
  )
  assert.deepEqual(
    [acquired?.fence, acquired?.session.next_seq, acquired?.session.id, acquired?.begun],
    [1, 2, id, events[1]],
  )
  const text = `
    select s.lease_owner, s.lease_until > clock_timestamp() + interval '10 seconds' as is_leased, s.next_seq::int,
           p.state, p.run_id, p.started_at is not null as is_started
    from sessions s join prompts p on p.session_id = s.id where s.id = $1`
  const state = { state: 'running', run_id: acquired?.first.run_id, is_started: true }
  assert.deepEqual((await pool.query(text, [id])).rows, [{ lease_owner: 'me', is_leased: true, next_seq: 3, ...state }])
  const next = await prompts.next(id)
  assert.deepEqual({ ...acquired?.first, state: 'running' }, next)
})

test('a session with other work, or with an owner, is not acquired with a prompt', async () => {
  const busy = await storedSession(pool)
  await accept(busy)
  const leased = await storedSession(pool)
  await pool.query(
    `update sessions set lease_owner = 'other', lease_until = clock_timestamp() + interval '9 seconds' where id = $1`,
    [leased],
  )
  for (const id of [busy, leased]) {
    const { outcome, events, acquired } = await accept(id, {}, 100, 'me')
    assert.deepEqual([outcome, events.length, acquired], ['accepted', 1, undefined])
    assert.equal((await statesOf(id)).at(-1), 'waiting')
  }
})
