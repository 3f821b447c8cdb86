import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from '../../../../test/support/service/database.ts'
import { storedSession } from '../../../../test/support/sessions/session-rows.ts'
import { fillLog } from '../../../../test/support/sessions/stalled-readers.ts'
import { eventStore } from './event-store.ts'

const database = await freshDatabase()
const store = eventStore(database.pool)

test('V2: reading a page of a session newer than the table statistics is as fast as any other', async () => {
  const log = { count: 2_000, eventBytes: 1_000 }
  const known = await storedSession(database.pool)
  await fillLog(database.pool, known, log)
  await database.pool.query('analyze sessions, session_events')
  const fresh = await storedSession(database.pool)
  await fillLog(database.pool, fresh, log)
  const query = { after: 0, limit: 1_000, order: 'asc', types: undefined, from: undefined } as const
  const reads = [
    (sessionId: string) => store.boundedPage(sessionId, 1_000),
    (sessionId: string) => store.list({ ...query, sessionId }),
  ]
  for (const read of reads) {
    const [ofKnown, ofFresh] = [await quickest(() => read(known)), await quickest(() => read(fresh))]
    assert.ok(ofFresh < 20 * ofKnown, `${ofFresh} ms instead of ${ofKnown} ms`)
  }
})

async function quickest(read: () => Promise<unknown>): Promise<number> {
  let ms = Number.POSITIVE_INFINITY
  for (let round = 0; round < 5; round++) {
    const startedMs = performance.now()
    await read()
    ms = Math.min(ms, performance.now() - startedMs)
  }
  return ms
}
