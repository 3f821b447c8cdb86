import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Client, type Pool } from 'pg'
import { freshDatabase } from '../../../../test/support/service/database.ts'
import { startPrompt, storedPrompt, storedSession } from '../../../../test/support/sessions/session-rows.ts'
import { ownerLock } from '../../db/notifications.ts'
import { sessionStore } from '../session-store.ts'
import { leaseStore } from './lease-store.ts'

const database = await freshDatabase()
const leases = leaseStore(database.pool)

const session = () => storedSession(database.pool)
const expire = (id: string) =>
  database.pool.query(`update sessions set lease_until = clock_timestamp() - interval '1 second' where id = $1`, [id])
const rowOf = async (id: string) => {
  const text = 'select lease_owner, sandbox_status, fence from sessions where id = $1'
  const { rows } = await database.pool.query<{ lease_owner: string | null; sandbox_status: string; fence: number }>(
    text,
    [id],
  )
  return rows[0]
}

/** Returns a session with a prompt that `owner` runs. */
async function running(owner: string): Promise<string> {
  const id = await session()
  const promptId = await storedPrompt(database.pool, id, { position: 1 })
  await leases.acquire(id, owner)
  await startPrompt(database.pool, promptId, 'run_1')
  return id
}

test('when many owners acquire a session at once, one succeeds', async () => {
  const id = await session()
  const taken = await Promise.all(Array.from({ length: 20 }, (_, at) => leases.acquire(id, `owner-${at}`)))
  assert.equal(taken.filter(Boolean).length, 1)
})

test('every new owner gets a higher fence, and learns whether the previous owner was interrupted', async () => {
  const id = await session()
  const row = await sessionStore(database.pool).ofRun(id)
  assert.equal(row?.id, id)
  const first = await leases.acquire(id, 'one')
  assert.deepEqual(first, {
    sessionId: id,
    fence: 1,
    wasAbandoned: false,
    first: null,
    begun: undefined,
    hasOthers: false,
    session: row,
  })
  await expire(id)
  const second = await leases.acquire(id, 'two')
  assert.deepEqual(second, {
    sessionId: id,
    fence: 2,
    wasAbandoned: true,
    first: null,
    begun: undefined,
    hasOthers: false,
    session: row,
  })
  if (second) await leases.handOver(second)
  const third = await leases.acquire(id, 'three')
  assert.deepEqual(third, {
    sessionId: id,
    fence: 3,
    wasAbandoned: false,
    first: null,
    begun: undefined,
    hasOthers: false,
    session: row,
  })
})

test('a renewal right after the release leaves the lease free for the next owner', async () => {
  const id = await session()
  const leased = await leases.acquire(id, 'one')
  assert.ok(leased)
  await leases.handOver(leased)
  assert.deepEqual(await leases.renew([leased]), [])
  assert.ok(await leases.acquire(id, 'two'))
})

test('a previous owner can neither renew nor release a lease', async () => {
  const id = await session()
  const first = await leases.acquire(id, 'one')
  await expire(id)
  const second = await leases.acquire(id, 'two')
  assert.ok(first && second)
  assert.deepEqual(await leases.renew([first]), [])
  await leases.handOver(first)
  assert.equal((await rowOf(id))?.lease_owner, 'two')
  assert.deepEqual(await leases.renew([first, second]), [id])
})

test('the lease of a deleted session can neither be acquired nor renewed', async () => {
  const id = await session()
  const leased = await leases.acquire(id, 'one')
  const client = await database.pool.connect()
  await sessionStore(database.pool).markDeleted(client, id)
  client.release()
  assert.deepEqual(leased && (await leases.renew([leased])), [])
  assert.equal(await leases.acquire(id, 'two'), undefined)
})

test('the sessions of an exited process are free at once, those of a connected one are not', async t => {
  const dead = await running('dead')
  const alive = await running('alive')
  const connection = new Client({ connectionString: database.url })
  await connection.connect()
  t.after(() => connection.end())
  await connection.query(`select pg_advisory_lock(${ownerLock})`, ['alive'])
  await leases.expireDeadOwners({ silentForMs: 0 })
  assert.equal((await leases.acquire(dead, 'next'))?.wasAbandoned, true)
  assert.equal(await leases.acquire(alive, 'next'), undefined)
})

test('a process that lost its connection but still renews keeps its sessions', async () => {
  const id = await running('cut-off')
  await leases.expireDeadOwners({ silentForMs: 5_000 })
  assert.equal(await leases.acquire(id, 'next'), undefined)
})

test('an idle session of an exited process counts as handed over', async () => {
  const id = await session()
  await leases.acquire(id, 'gone')
  await sessionStore(database.pool).markSandboxRunning(id)
  await leases.expireDeadOwners({ silentForMs: 0 })
  const row = await rowOf(id)
  assert.deepEqual([row?.lease_owner, row?.sandbox_status], [null, 'stopped'])
})

test('a sandbox is shown as running only while the session has an owner', async () => {
  const id = await session()
  const { markSandboxRunning } = sessionStore(database.pool)
  await markSandboxRunning(id)
  assert.equal((await rowOf(id))?.sandbox_status, 'none')
  const leased = await leases.acquire(id, 'one')
  await markSandboxRunning(id)
  assert.equal((await rowOf(id))?.sandbox_status, 'running')
  if (leased) await leases.handOver(leased)
  assert.equal((await rowOf(id))?.sandbox_status, 'stopped')
})

/** Returns sessions with one prompt each, the oldest first. */
async function waitingSessions(pool: Pool, count: number) {
  const waiting: { readonly id: string; readonly promptId: string }[] = []
  for (let at = 0; at < count; at++) {
    const id = await storedSession(pool)
    waiting.push({ id, promptId: await storedPrompt(pool, id, { position: 1 }) })
  }
  return waiting
}

const idsOf = (taken: readonly { readonly sessionId: string }[]) => taken.map(({ sessionId }) => sessionId).sort()

test('sessions with unclaimed work are acquired together, interrupted ones first, then the oldest', async () => {
  const { pool } = await freshDatabase()
  const { acquire, acquireOldest } = leaseStore(pool)
  const [first, second, third, cutOff] = await waitingSessions(pool, 4)
  await storedSession(pool)
  assert.ok(cutOff && first && second && third)
  await acquire(cutOff.id, 'gone')
  await startPrompt(pool, cutOff.promptId, 'run_1')
  await pool.query(`update sessions set lease_until = clock_timestamp() - interval '1 second' where id = $1`, [
    cutOff.id,
  ])
  await acquire(second.id, 'somebody')
  const taken = await acquireOldest(2, 'one')
  assert.deepEqual(idsOf(taken), [cutOff.id, first.id].sort())
  assert.deepEqual(
    taken.map(({ sessionId, fence, wasAbandoned }) => [sessionId === cutOff.id, fence, wasAbandoned]).sort(),
    [
      [false, 1, false],
      [true, 2, true],
    ],
  )
  assert.deepEqual(idsOf(await acquireOldest(10, 'one')), [third.id], 'idle ones, and those of others, are left alone')
  assert.deepEqual(await acquireOldest(10, 'two'), [])
})

test('a session with many prompts counts once among the oldest', async () => {
  const { pool } = await freshDatabase()
  const [busy, other] = await waitingSessions(pool, 2)
  assert.ok(busy && other)
  for (let position = 2; position <= 5; position++) await storedPrompt(pool, busy.id, { position })
  await pool.query(`update prompts set created_at = created_at - interval '1 hour' where session_id = $1`, [busy.id])
  assert.deepEqual(idsOf(await leaseStore(pool).acquireOldest(2, 'one')), [busy.id, other.id].sort())
})

test('when many owners acquire at once, each session goes to one of them', async () => {
  const { pool } = await freshDatabase()
  const { acquireOldest } = leaseStore(pool)
  const waiting = await waitingSessions(pool, 20)
  const owners = Array.from({ length: 5 }, (_, at) => `owner-${at}`)
  const taken: string[] = []
  // Concurrent queries skip rows that another one has locked, so several rounds may be needed.
  while (taken.length < waiting.length) {
    const found = await Promise.all(owners.map(owner => acquireOldest(4, owner)))
    taken.push(...idsOf(found.flat()))
    assert.ok(found.flat().length > 0, 'somebody finds something')
  }
  assert.deepEqual(taken.sort(), waiting.map(({ id }) => id).sort())
})

test('acquiring leases starts the run of the first prompt of each session', async () => {
  const [one, two, none] = [await session(), await session(), await session()]
  const prompts = [
    await storedPrompt(database.pool, one, { position: 1 }),
    await storedPrompt(database.pool, two, { position: 1 }),
  ]
  const taken = await leases.acquireNotified([one, none, two], 10, 'me')
  assert.deepEqual(taken.map(({ sessionId }) => sessionId).sort(), [one, two].sort())
  for (const { sessionId, first, begun, session: before } of taken) {
    const promptId = prompts[sessionId === one ? 0 : 1]
    assert.equal(first?.id, promptId)
    assert.deepEqual(
      [begun?.type, begun?.seq, begun?.['prompt_id'], begun?.['run_id']],
      ['session.status_running', before.next_seq, promptId, first?.run_id],
    )
    const { rows } = await database.pool.query(
      `select p.state, p.run_id, e.payload, e.fence, e.bytes, s.next_seq, s.log_bytes
       from sessions s join prompts p on p.session_id = s.id join session_events e on e.session_id = s.id where s.id = $1`,
      [sessionId],
    )
    const payload = { prompt_id: promptId, run_id: first?.run_id }
    const bytes = JSON.stringify(payload).length
    const run_id = first?.run_id
    assert.deepEqual(rows, [{ state: 'running', run_id, payload, fence: 1, bytes, next_seq: 2, log_bytes: bytes }])
  }
  assert.notEqual(taken[0]?.first?.run_id, taken[1]?.first?.run_id)
})

test('acquiring a lease starts neither a prompt that runs already nor one that waits for something', async () => {
  const id = await running('gone')
  await expire(id)
  const resumed = await leases.acquire(id, 'next')
  assert.deepEqual([resumed?.begun, resumed?.first?.state, resumed?.wasAbandoned], [undefined, 'running', true])
  const leased = await session()
  const promptId = await storedPrompt(database.pool, leased, { position: 1 })
  await database.pool.query(`insert into waits (prompt_id, kind, session_id) values ($1, 'budget', $2)`, [
    promptId,
    leased,
  ])
  const lease = await leases.acquire(leased, 'me')
  assert.deepEqual([lease?.begun, lease?.first], [undefined, null])
})

test('disown releases the lease that an owner does not know of, and no other', async () => {
  const id = await session()
  await leases.acquire(id, 'me')
  await leases.disown(id, 'other')
  assert.equal(await leases.acquire(id, 'next'), undefined)
  await leases.disown(id, 'me')
  assert.equal((await leases.acquire(id, 'next'))?.wasAbandoned, false)
})

/** Returns a session whose run waits for approval without a lease, while `owner` keeps its program. */
async function warm(owner: string): Promise<string> {
  const id = await running(owner)
  const { rows } = await database.pool.query<{ fence: number }>('select fence from sessions where id = $1', [id])
  assert.deepEqual(await leases.releaseWarm([{ sessionId: id, fence: rows[0]?.fence ?? 0 }], owner), [id])
  return id
}
const warmOwnerOf = async (id: string) => {
  const text = 'select warm_owner from sessions where id = $1'
  return (await database.pool.query<{ warm_owner: string | null }>(text, [id])).rows[0]?.warm_owner
}
const waitEnded = (id: string, secondsAgo: number) =>
  database.pool.query('update sessions set due_at = clock_timestamp() - $2 * interval $$1 s$$ where id = $1', [
    id,
    secondsAgo,
  ])

test('for 60 s after its wait has ended only the process with the program acquires a session, afterwards any process', async () => {
  const id = await warm('keeper')
  await waitEnded(id, 50)
  assert.equal(await leases.acquire(id, 'other'), undefined)
  assert.deepEqual(await leases.acquireNotified([id], 1, 'other'), [])
  assert.ok(!(await leases.acquireOldest(200, 'other')).some(({ sessionId }) => sessionId === id))
  const taken = await leases.acquire(id, 'keeper')
  assert.equal(taken?.wasAbandoned, false, 'it was given up, not cut off')
  assert.equal(await warmOwnerOf(id), null)

  const late = await warm('keeper')
  await waitEnded(late, 61)
  assert.ok(await leases.acquire(late, 'other'))
  assert.equal(await warmOwnerOf(late), null)
})

test('a session whose program has ended, alone or with its process, is free for every process', async () => {
  const cooled = await warm('keeper')
  await waitEnded(cooled, 0)
  await leases.endWarm([cooled], 'somebody else')
  assert.equal(await leases.acquire(cooled, 'other'), undefined)
  await leases.endWarm([cooled], 'keeper')
  assert.ok(await leases.acquire(cooled, 'other'))

  const orphaned = await warm('dead keeper')
  await waitEnded(orphaned, 0)
  await leases.expireDeadOwners({ silentForMs: 0 })
  assert.ok(await leases.acquire(orphaned, 'other'))
})

test('a lease that another owner has acquired is not released', async () => {
  const id = await running('one')
  const { rows } = await database.pool.query<{ fence: number }>('select fence from sessions where id = $1', [id])
  await expire(id)
  await leases.acquire(id, 'two')
  assert.deepEqual(await leases.releaseWarm([{ sessionId: id, fence: rows[0]?.fence ?? 0 }], 'one'), [])
  assert.equal((await rowOf(id))?.lease_owner, 'two')
})
