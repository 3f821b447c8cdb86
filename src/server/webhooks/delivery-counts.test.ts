import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from '../../../test/support/service/database.ts'
import { countStore, type NewCount } from './count-store.ts'
import { createDeliveryCounts } from './delivery-counts.ts'

const { pool } = await freshDatabase()
const store = countStore(pool)
const all = { owner: undefined, agent_id: undefined, from: undefined, to: undefined }

async function newAgent(id: string, owner: string): Promise<void> {
  const text = `
    insert into agents (id, owner_id, name, model, system, harness, tools, config, status)
    values ($1, $2, $1, 'm', '', 'builtin', '{}', '{}', 'active')`
  await pool.query(text, [id, owner])
}

test('requests are counted per agent, kind and hour, and only those of existing agents are listed', async () => {
  await newAgent('agent_a', 'ana')
  await newAgent('agent_b', 'bo')
  let now = Date.parse('2026-05-05T10:59:59.500Z')
  const counts = createDeliveryCounts({ store, log: { warn: () => undefined }, nowMs: () => now })
  for (let at = 0; at < 500; at++) counts.add('agent_a', 'invalid_token')
  counts.add('agent_b', 'duplicate')
  counts.add('agent_gone', 'invalid_token')
  await counts.flush()
  now += 1_000
  counts.add('agent_a', 'invalid_token')
  await counts.stop()

  const last_at = '2026-05-05T11:00:00.500Z'
  const ofA = { agent_id: 'agent_a', kind: 'invalid_token', count: 501, last_at }
  assert.deepEqual(await store.list({ ...all, agent_id: 'agent_a' }), [ofA])
  assert.deepEqual(
    (await store.list(all)).map(({ agent_id, count }) => [agent_id, count]),
    [
      ['agent_a', 501],
      ['agent_b', 1],
    ],
  )
  assert.deepEqual(await store.list({ ...all, owner: 'bo', agent_id: 'agent_a' }), [])
  const [late] = await store.list({ ...all, from: new Date('2026-05-05T11:30:00Z'), agent_id: 'agent_a' })
  assert.equal(late?.count, 1, 'whole hours are counted')
  const { rows } = await pool.query('select count(*)::int as rows from webhook_counts')
  assert.deepEqual(rows, [{ rows: 4 }])
})

test('counts that could not be written are written later', async () => {
  const written: NewCount[] = []
  let isFailing = true
  const flaky = {
    async add(rows: readonly NewCount[]) {
      if (isFailing) throw new Error('unreachable')
      written.push(...rows)
    },
  }
  const counts = createDeliveryCounts({ store: flaky, log: { warn: () => undefined }, nowMs: () => 0 })
  counts.add('agent_a', 'rate_limited')
  await counts.flush()
  counts.add('agent_a', 'rate_limited')
  isFailing = false
  await counts.stop()
  assert.deepEqual(
    written.map(({ agent_id, kind, count }) => [agent_id, kind, count]),
    [['agent_a', 'rate_limited', 2]],
  )
})
