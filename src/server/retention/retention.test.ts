import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { freshDatabase } from '../../../test/support/service/database.ts'
import { noRetention } from '../../../test/support/service/no-retention.ts'
import { storedPrompt, storedSession } from '../../../test/support/sessions/session-rows.ts'
import type { RetentionSettings } from '../config/config.ts'
import { eventStore, withId } from '../sessions/log/event-store.ts'
import { blobStore } from '../workspaces/blob-store.ts'
import { createRetention } from './retention.ts'
import { retentionStore } from './store.ts'

const { pool } = await freshDatabase()
const events = eventStore(pool)
const hourMs = 3_600_000

function retentionWith(settings: Partial<RetentionSettings>) {
  const removed: string[] = []
  const files: string[] = []
  const retention = createRetention({
    settings: { ...noRetention, ...settings },
    store: retentionStore(pool),
    sessions: { remove: async id => void removed.push(id) },
    removeFiles: async id => void files.push(id),
    log: {
      info: () => undefined,
      warn: (fields: unknown) => assert.fail(String((fields as { err?: unknown }).err ?? fields)),
    },
  })
  return { retention, removed, files }
}

/** A session with a long log that was deleted `hours` ago. */
async function deletedSession(hours: number, length = 3): Promise<string> {
  const id = await storedSession(pool)
  const log = Array.from({ length }, () => withId({ type: 'agent.message', content: [] }))
  await events.append(id, log)
  await storedPrompt(pool, id, { position: 1 })
  await pool.query(
    `update sessions set deleted_at = clock_timestamp() - $2 * interval '1 hour', sandbox_status = 'dead' where id = $1`,
    [id, hours],
  )
  return id
}

async function leftOf(id: string) {
  const { rows } = await pool.query<Record<string, number>>(
    `select (select count(*) from session_events where session_id = $1)::int as events,
            (select count(*) from prompts where session_id = $1)::int as prompts,
            (select count(*) from sessions where id = $1)::int as rows`,
    [id],
  )
  return rows[0]
}

test('V8, S57: events and prompts of a deleted session are deleted after the grace period; its row and its ledger entries stay', async () => {
  const [old, young] = [await deletedSession(5, 2_500), await deletedSession(1)]
  await pool.query(
    `insert into usage (id, request_id, principal, session_id, alias, deployment, provider, upstream_model, lane, outcome,
       attempts, input_tokens, cache_read_tokens, cache_write_5m_tokens, cache_write_1h_tokens, output_tokens, estimated, total_ms)
     values ('use_1', 'req_1', 'ada', $1, 'm', 'd', 'p', 'm', 'raw', 'completed', 1, 5, 0, 0, 0, 7, false, 1)`,
    [old],
  )
  const { retention, files } = retentionWith({ deletedSessionsMs: 2 * hourMs })
  await retention.sweep()
  assert.deepEqual(await leftOf(old), { events: 0, prompts: 0, rows: 1 })
  assert.deepEqual(await leftOf(young), { events: 3, prompts: 1, rows: 1 })
  assert.deepEqual(files, [old], 'its runtime was never brought to remove them')
  const { rowCount } = await pool.query('select from usage where session_id = $1 and output_tokens = 7', [old])
  assert.equal(rowCount, 1)
  const { rows } = await pool.query(
    'select purged_at is not null as purged, emptied_at is not null as emptied from sessions where id = any ($1) order by id',
    [[old, young]],
  )
  assert.deepEqual(rows, [
    { purged: true, emptied: true },
    { purged: false, emptied: false },
  ])
})

test('V8: an interrupted cleanup continues', async () => {
  const id = await deletedSession(5, 10)
  await pool.query('update sessions set purged_at = clock_timestamp() where id = $1', [id])
  await retentionWith({ deletedSessionsMs: 2 * hourMs }).retention.sweep()
  assert.deepEqual(await leftOf(id), { events: 0, prompts: 0, rows: 1 })
})

test('V8: one replica cleans up at a time, and locked rows are left for the next sweep', async () => {
  const id = await deletedSession(5)
  const { retention } = retentionWith({ deletedSessionsMs: 2 * hourMs })
  await retentionStore(pool).alone(async () => {
    await retention.sweep()
    assert.equal((await leftOf(id))?.['events'], 3)
  })
  const holder = await pool.connect()
  await holder.query('begin')
  await holder.query('select from sessions where id = $1 for update', [id])
  await retention.sweep()
  assert.equal((await leftOf(id))?.['events'], 3)
  await holder.query('rollback')
  holder.release()
  await retention.sweep()
  assert.equal((await leftOf(id))?.['events'], 0)
})

test('V8: idle sessions are deleted, except those with a waiting prompt', async () => {
  const [idle, busy, young] = [await storedSession(pool), await storedSession(pool), await storedSession(pool)]
  await storedPrompt(pool, busy, { position: 1 })
  await pool.query(`update sessions set updated_at = updated_at - interval '5 hours' where id = any ($1)`, [
    [idle, busy],
  ])
  const store = retentionStore(pool)
  const found = await store.alone(cleaning => cleaning.idleSessions(2 * hourMs))
  assert.ok(found?.includes(idle) && !found.includes(busy) && !found.includes(young))
})

test('V8: only the cleanup deletes audit entries, and only those past their retention', async () => {
  const entry = (id: string, hours: number) =>
    pool.query(
      `insert into audit_log (id, created_at, principal, role, action, object_id)
       values ($1, clock_timestamp() - $2 * interval '1 hour', 'ada', 'admin', 'key.create', 'k')`,
      [id, hours],
    )
  await entry('aud_old', 5)
  await entry('aud_new', 1)
  await retentionWith({ auditMs: 2 * hourMs }).retention.sweep()
  assert.deepEqual((await pool.query('select id from audit_log')).rows, [{ id: 'aud_new' }])
  await assert.rejects(pool.query('delete from audit_log'), /append-only/)
})

test('V8: old deliveries, idempotency keys and tickets are deleted', async () => {
  await pool.query(
    `insert into webhook_deliveries (agent_id, delivery_id, id, owner_id, kind, status, headers, payload_bytes, received_at)
     select 'a', n, n, 'ada', 'webhook', 'accepted', '{}', 0, clock_timestamp() - n::int * interval '1 hour'
     from unnest(array['1', '5']) as n`,
  )
  await pool.query(
    `insert into webhook_payloads (agent_id, delivery_id, version, sealed, key_id)
     select agent_id, delivery_id, 1, '', 'k' from webhook_deliveries`,
  )
  await pool.query(
    `insert into idempotency_keys (principal, route, key, body_hash, created_at)
     select 'ada', 'r', n, '', clock_timestamp() - n::int * interval '1 hour' from unnest(array['1', '25']) as n`,
  )
  const session = await storedSession(pool)
  await pool.query(
    `insert into stream_tickets (hash, session_id, principal, expires_at) values ('x', $1, 'ada', clock_timestamp())`,
    [session],
  )
  await pool.query(
    `insert into webhook_counts (agent_id, hour, kind, count, last_at)
     select n, clock_timestamp() - n::int * interval '1 hour', 'duplicate', 1, clock_timestamp() from unnest(array['1', '5']) as n`,
  )
  await retentionWith({ deliveriesMs: 2 * hourMs }).retention.sweep()
  const idsOf = async (text: string) => (await pool.query<{ id: string }>(text)).rows.map(({ id }) => id)
  assert.deepEqual(await idsOf('select id from webhook_deliveries'), ['1'])
  assert.deepEqual(await idsOf('select delivery_id as id from webhook_payloads'), ['1'])
  assert.deepEqual(await idsOf('select agent_id as id from webhook_counts'), ['1'])
  assert.deepEqual(await idsOf('select key as id from idempotency_keys'), ['1'])
  assert.deepEqual(await idsOf('select principal as id from stream_tickets'), [])
})

test('V8, S57: file chunks are deleted one day after the last session released them', async () => {
  const [old, other] = [await deletedSession(5), await storedSession(pool)]
  const rows = blobStore(pool)
  const pieces = ['aa', 'bb'].map(name => ({
    hash: name.repeat(32),
    bytes: 1,
    encoding: 'raw' as const,
    data: Buffer.from('x'),
    objectKey: null,
  }))
  const hashes = pieces.map(({ hash }) => hash)
  await rows.insert('ada', pieces)
  await rows.need(pool, old, { owner: 'ada', hashes })
  await rows.need(pool, other, { owner: 'ada', hashes: hashes.slice(1) })
  const { retention } = retentionWith({ deletedSessionsMs: 2 * hourMs })
  const left = async () =>
    (await pool.query<{ hash: Buffer }>('select hash from workspace_blobs order by 1')).rows.map(({ hash }) =>
      hash.toString('hex'),
    )
  await retention.sweep()
  assert.deepEqual(await left(), hashes, 'a step that is being stored may need them')
  await pool.query(`update workspace_blobs set loose_since = loose_since - interval '2 days'`)
  await retention.sweep()
  assert.deepEqual(await left(), hashes.slice(1))
})

test('V8: the documentation states the retention of every table', async () => {
  const page = readFileSync(join(import.meta.dirname, '../../../docs/operations.md'), 'utf8')
  const { rows } = await pool.query<{ name: string }>(
    `select tablename as name from pg_tables where schemaname = 'public' order by 1`,
  )
  const ofTheMigrations = 'schema_migrations'
  const unnamed = rows.filter(({ name }) => name !== ofTheMigrations && !page.includes(`\`${name}\``))
  assert.deepEqual(unnamed, [])
})
