import assert from 'node:assert/strict'
import { test } from 'node:test'
import { registryOf } from '../../../test/support/gateway/registry-of.ts'
import { freshDatabase } from '../../../test/support/service/database.ts'
import { eventually } from '../../../test/support/service/eventually.ts'
import { storedSession } from '../../../test/support/sessions/session-rows.ts'
import { createLog } from '../platform/log.ts'
import { type DisposedSession, type Runtime, RuntimeFailure } from '../runtimes/runtime.ts'
import { createDisposal } from './disposal.ts'
import { disposalStore } from './disposal-store.ts'
import { sessionStore } from './session-store.ts'

const { pool } = await freshDatabase()
const sessions = sessionStore(pool)
const store = disposalStore(pool)
const log = createLog('silent')

/** Disposal with one runtime, which answers as the test specifies. */
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

/** Makes the next attempt due. */
const makeDue = (id: string) =>
  pool.query(`update sessions set dispose_after = clock_timestamp() - interval '1 second' where id = $1`, [id])
const isDisposed = async (id: string) => {
  const { rows } = await pool.query<{ is: boolean }>(
    'select disposed_at is not null as is from sessions where id = $1',
    [id],
  )
  return rows[0]?.is
}

test('a deleted session is removed at its runtime once, by the ids of the provider', async () => {
  const disposed: DisposedSession[] = []
  const disposal = disposalOver(async session => void disposed.push(session))
  const id = await deleted()
  await Promise.all([disposal.begin(id), disposal.begin(id)])
  await disposal.begin(id)
  assert.deepEqual(
    disposed.map(({ id, refs }) => [id, refs.provider_session_id]),
    [[id, 'theirs']],
  )
  assert.equal(await isDisposed(id), true)
})

test('a session that was not deleted is not removed at its runtime', async () => {
  const id = await storedSession(pool)
  await disposalOver(() => assert.fail('it must not be asked')).begin(id)
  assert.equal(await isDisposed(id), false)
})

test('an unreachable runtime does not fail the deletion, and the next attempt is at least a minute later', async () => {
  const isUnreachable = () => Promise.reject(new RuntimeFailure('unknown_error', 'the provider is unreachable'))
  const id = await deleted()
  await disposalOver(isUnreachable).begin(id)
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

test('another process finishes the cleanup of a killed process', async () => {
  const id = await deleted()
  assert.equal((await store.claim(id))?.id, id)
  await makeDue(id)
  const disposed: string[] = []
  const other = disposalOver(async session => void disposed.push(session.id))
  other.start()
  await eventually(() => isDisposed(id))
  await other.stop()
  assert.deepEqual(disposed, [id])
})

test('cleanup stops after 7 days', async () => {
  const id = await deleted()
  await pool.query(`update sessions set deleted_at = clock_timestamp() - interval '8 days' where id = $1`, [id])
  assert.equal(await store.claim(id), undefined)
})

test('a runtime that does not answer delays the caller, and the shutdown of the process, by 5 s at most', async t => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const disposed = Promise.withResolvers<void>()
  const disposal = disposalOver(() => {
    disposed.resolve()
    return new Promise(() => undefined)
  })
  const begun = disposal.begin(await deleted())
  await disposed.promise
  t.mock.timers.tick(5_000)
  await begun
  const stopped = disposal.stop()
  t.mock.timers.tick(5_000)
  await stopped
})
