import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from '../../../test/support/database.ts'
import type { UsageRow } from './store.ts'
import { usageStore } from './store.ts'

const { db } = await freshDatabase()
const store = usageStore(db)

const row = (id: string): UsageRow => ({
  id,
  request_id: 'req_1',
  principal: 'master',
  owner_id: null,
  agent_id: 'agent_1',
  session_id: 'ses_1',
  prompt_id: 'msg_1',
  client_session_id: 'client',
  client_agent_id: null,
  client_parent_id: null,
  alias: 'opus',
  deployment: 'opus.1',
  provider: 'anthropic',
  upstream_model: 'claude-opus-5',
  lane: 'raw',
  outcome: 'aborted',
  stop_reason: null,
  status: null,
  attempts: 1,
  input_tokens: 5_000_000_000,
  cache_read_tokens: 1,
  cache_write_5m_tokens: 2,
  cache_write_1h_tokens: 3,
  output_tokens: 4,
  estimated: true,
  cost_usd: '12.000000000001',
  degraded: 'top_k=dropped',
  first_content_ms: 1.5,
  total_ms: 2.25,
})

test('rows come back as they were booked, dated by the database', async () => {
  await store.insert([row('use_1')])
  const { created_at, ...stored } = await db.selectFrom('usage').selectAll().executeTakeFirstOrThrow()
  assert.deepEqual(stored, row('use_1'))
  assert.ok(Math.abs(created_at.getTime() - Date.now()) < 60_000)
})

test('a batch that is sent twice is there once, and a full batch fits in one statement', async () => {
  const rows = Array.from({ length: 500 }, (_, at) => row(`use_batch_${at}`))
  await store.insert(rows)
  await store.insert([...rows.slice(0, 10), row('use_new')])
  await store.insert([])
  const ids = await db.selectFrom('usage').select('id').where('id', '!=', 'use_1').execute()
  assert.equal(ids.length, 501)
})

test('B4: a cost that is not known is stored as unknown, and one of nothing as 0', async () => {
  await store.insert([
    { ...row('use_unknown'), cost_usd: null },
    { ...row('use_free'), cost_usd: '0' },
  ])
  const costs = db.selectFrom('usage').select(['id', 'cost_usd']).where('id', 'in', ['use_unknown', 'use_free'])
  assert.deepEqual(await costs.orderBy('id').execute(), [
    { id: 'use_free', cost_usd: '0' },
    { id: 'use_unknown', cost_usd: null },
  ])
})
