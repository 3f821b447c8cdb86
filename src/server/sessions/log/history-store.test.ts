import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from '../../../../test/support/service/database.ts'
import { storedSession } from '../../../../test/support/sessions/session-rows.ts'
import type { NewEvent } from '../../../contract/events.ts'
import { eventStore, withId } from './event-store.ts'
import { historyStore } from './history-store.ts'

const { pool } = await freshDatabase()
const events = eventStore(pool)
const history = historyStore(pool)

const text = (said: string) => [{ type: 'text', text: said } as const]
const says: NewEvent = { type: 'agent.message', content: text('said') }

async function sessionWith(log: readonly NewEvent[]): Promise<string> {
  const id = await storedSession(pool)
  for (let at = 0; at < log.length; at += 1_000) await events.append(id, log.slice(at, at + 1_000).map(withId))
  return id
}

const compaction = (kept_from_seq: number, waiting_seqs: readonly number[] = []): NewEvent => ({
  type: 'agent.thread_context_compacted',
  // The JSON operators of PostgreSQL fail on this text.
  summary: 'a summary with \u0000',
  kept_from_seq,
  waiting_seqs,
})

const firstSeqs = async (id: string, limit = 500) =>
  (await history.firstRetained(id, limit)).events.map(({ seq }) => seq)

test('a log without a compaction is read from its beginning', async () => {
  const id = await sessionWith([says, says, says])
  assert.deepEqual(await firstSeqs(id), [1, 2, 3])
  assert.deepEqual(await firstSeqs(id, 2), [1, 2])
  const { events: rest, bytes } = await history.after(id, 2, 10)
  assert.deepEqual([rest.map(({ seq }) => seq), bytes > 20], [[3], true])
  assert.deepEqual(await firstSeqs(await sessionWith([])), [])
})

test('the events retained by the last compaction are read, with the messages that it names', async () => {
  const id = await sessionWith([says, says, says, compaction(3), says, says, compaction(6, [2]), says])
  assert.deepEqual(await firstSeqs(id), [2, 6, 7, 8])
  assert.deepEqual(await firstSeqs(id, 2), [2, 6, 7])
})

test('an internal compaction of another runtime does not shorten the log', async () => {
  const id = await sessionWith([says, { type: 'agent.thread_context_compacted' }, says])
  assert.deepEqual(await firstSeqs(id), [1, 2, 3])
})

test('a session of 5,000 turns is read from its last compaction on with an index', async () => {
  const turn = (): NewEvent[] => [{ type: 'user.message', content: text('a') }, says, says]
  const turns = Array.from({ length: 5_000 }, turn).flat()
  const id = await sessionWith([...turns.slice(0, 7_000), compaction(6_900), ...turns.slice(7_000), compaction(14_990)])
  const client = await pool.connect()
  try {
    await client.query('begin')
    const before = await fetchedBy(client)
    const spied = historyStore({ query: client.query.bind(client) } as unknown as typeof pool)
    const { events: read } = await spied.firstRetained(id, 500)
    const rows = (await fetchedBy(client)) - before
    assert.deepEqual([read[0]?.seq, read.at(-1)?.seq], [14_990, 15_002])
    assert.ok(rows < 100, `${rows} rows of the log were fetched`)
  } finally {
    await client.query('rollback')
    client.release()
  }
})

/** Returns the number of log rows that this transaction has fetched or scanned. */
async function fetchedBy(client: { query: (text: string) => Promise<{ rows: unknown[] }> }): Promise<number> {
  const text = `
    select coalesce(sum(seq_tup_read), 0) + coalesce(sum(idx_tup_fetch), 0) as rows
    from pg_stat_xact_user_tables where relname = 'session_events'`
  const { rows } = await client.query(text)
  return Number((rows[0] as { rows: string }).rows)
}
