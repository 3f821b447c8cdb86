import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from '../../../test/support/database.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { registryOf } from '../../../test/support/registry-of.ts'
import { storedSession } from '../../../test/support/session-rows.ts'
import { createLog } from '../platform/log.ts'
import { type DisposedSession, type Runtime, RuntimeFailure } from '../runtimes/runtime.ts'
import { createDisposal } from './disposal.ts'
import { disposalStore } from './disposal-store.ts'
import { sessionStore } from './session-store.ts'

const { pool } = await freshDatabase()
const sessions = sessionStore(pool)
const store = disposalStore(pool)
const log = createLog('silent')

/** Disposals over one runtime, which answers as the test says. */
function disposalOver(dispose: (session: DisposedSession) => Promise<void>) {
  const runtime = { id: 'builtin', dispose } as unknown as Runtime
  return createDisposal({ store, runtimes: registryOf(runtime), settled: async () => undefined, log })
}

async function deleted(): Promise<string> {
  const id = await storedSession(pool)
  await pool.query(`update sessions set provider_session_id = 'theirs' where id = $1`, [id])
  const client = await pool.connect()
  await sessions.markDeleted(client, id).finally(() => client.release())
  return id
}

/** As if the time until the next attempt were over. */
const makeDue = (id: string) =>
  pool.query(`update sessions set dispose_after = clock_timestamp() - interval '1 second' where id = $1`, [id])
const isDisposed = async (id: string) => {
  const { rows } = await pool.query<{ is: boolean }>(
    'select disposed_at is not null as is from sessions where id = $1',
    [id],
  )
  return rows[0]?.is
}

test('a deleted session is removed at its runtime once, by the names that the provider gave', async () => {
  const asked: DisposedSession[] = []
  const disposal = disposalOver(async session => void asked.push(session))
  const id = await deleted()
  await Promise.all([disposal.begin(id), disposal.begin(id)])
  await disposal.begin(id)
  assert.deepEqual(
    asked.map(({ id, refs }) => [id, refs.provider_session_id]),
    [[id, 'theirs']],
  )
  assert.equal(await isDisposed(id), true)
})

test('a session that was not deleted is left alone', async () => {
  const id = await storedSession(pool)
  await disposalOver(() => assert.fail('it must not be asked')).begin(id)
  assert.equal(await isDisposed(id), false)
})

test('a runtime that is away does not fail the deletion, and is asked again after a minute at the earliest', async () => {
  const isAway = () => Promise.reject(new RuntimeFailure('unknown_error', 'the provider is away'))
  const id = await deleted()
  await disposalOver(isAway).begin(id)
  assert.equal(await isDisposed(id), false)
  assert.equal(await store.claim(id), undefined, 'it is not due yet')
  const { rows } = await pool.query<{ seconds: string }>(
    'select extract(epoch from dispose_after - clock_timestamp()) as seconds from sessions where id = $1',
    [id],
  )
  assert.ok(Number(rows[0]?.seconds) > 50, `${rows[0]?.seconds} s`)

  await makeDue(id)
  const back = disposalOver(async () => undefined)
  back.start()
  await eventually(() => isDisposed(id))
  await back.stop()
})

test('what a killed process began is taken up by another', async () => {
  const id = await deleted()
  assert.equal((await store.claim(id))?.id, id)
  await makeDue(id)
  const asked: string[] = []
  const other = disposalOver(async session => void asked.push(session.id))
  other.start()
  await eventually(() => isDisposed(id))
  await other.stop()
  assert.deepEqual(asked, [id])
})

test('after 7 days nobody is asked any more', async () => {
  const id = await deleted()
  await pool.query(`update sessions set deleted_at = clock_timestamp() - interval '8 days' where id = $1`, [id])
  assert.equal(await store.claim(id), undefined)
})

test('a runtime that does not answer holds the caller up for 5 s at most, and the end of the process too', async t => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const asked = Promise.withResolvers<void>()
  const disposal = disposalOver(() => {
    asked.resolve()
    return new Promise(() => undefined)
  })
  const begun = disposal.begin(await deleted())
  await asked.promise
  t.mock.timers.tick(5_000)
  await begun
  const stopped = disposal.stop()
  t.mock.timers.tick(5_000)
  await stopped
})
