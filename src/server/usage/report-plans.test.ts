import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Kysely, PostgresDialect } from 'kysely'
import { freshDatabase } from '../../../test/support/service/database.ts'
import type { Database } from '../db/database.ts'
import type { CallFilter } from './call-filter.ts'
import { reportStore } from './report-store.ts'

const { pool } = await freshDatabase()

// 100 days with 1,000 calls each, of 100 keys, owners and agents and 1,000 sessions.
await pool.query(`
  insert into usage (id, request_id, principal, key_id, owner_id, agent_id, session_id, alias, deployment, provider,
                     upstream_model, lane, outcome, attempts, input_tokens, cache_read_tokens, cache_write_5m_tokens,
                     cache_write_1h_tokens, output_tokens, estimated, cost_usd, total_ms, created_at)
  select 'use_' || n, 'req_' || n, 'p', 'key_' || n % 100, 'owner_' || n % 100, 'agent_' || n % 100, 'ses_' || n % 1000,
         'model_' || n % 5, 'd', 'p', 'm', 'raw', 'completed', 1, 1, 1, 1, 1, 1, false, 0.001, 1,
         timestamptz '2026-01-01T00:00:00Z' + n * interval '86.4 seconds'
  from generate_series(0, 99999) n`)
await pool.query('analyze usage')

const asked: { readonly sql: string; readonly parameters: readonly unknown[] }[] = []
const store = reportStore(
  new Kysely<Database>({ dialect: new PostgresDialect({ pool }), log: ({ query }) => void asked.push(query) }),
)

/** Returns the plan of the one statement that `run` sends. */
async function planOf(run: () => Promise<unknown>): Promise<string> {
  asked.length = 0
  await run()
  const [query, ...more] = asked
  if (!query || more.length > 0) throw new Error(`${asked.length} statements were sent`)
  const { rows } = await pool.query<{ 'QUERY PLAN': string }>(`explain ${query.sql}`, [...query.parameters])
  return rows.map(row => row['QUERY PLAN']).join('\n')
}

const page = { after: undefined, limit: 51 }
const report = { groupBy: ['model', 'day'], timezone: 'UTC', limit: 1_000 } as const
const shortRange = { from: new Date('2026-02-01'), to: new Date('2026-02-02'), visible: {} }

const filters: readonly (readonly [what: string, filter: Omit<Partial<CallFilter>, 'from' | 'to'>, index: string])[] = [
  ['all calls', {}, 'usage_by_time'],
  ['a session', { session_id: 'ses_7' }, 'usage_of_session'],
  ['a key', { key_id: 'key_7' }, 'usage_of_key'],
  ['an owner', { owner_id: 'owner_7' }, 'usage_of_owner'],
  ['an agent', { agent_id: 'agent_7' }, 'usage_of_agent'],
  ['what an owner may see', { visible: { owner_id: 'owner_7' } }, 'usage_of_owner'],
  ['what a key may see', { visible: { key_id: 'key_7' } }, 'usage_of_key'],
  ['a model', { alias: 'model_1' }, 'usage_by_time'],
]

for (const [what, filter, index] of filters) {
  test(`a report on ${what} over one day of 100 reads an index, not the table`, async () => {
    const plan = await planOf(() => store.report({ ...report, filter: { ...shortRange, ...filter } }))
    assert.match(plan, new RegExp(`\\b${index}\\b`))
    assert.doesNotMatch(plan, /Seq Scan/)
  })
  test(`a page of ${what} over one day of 100 reads an index, not the table`, async () => {
    const plan = await planOf(() => store.calls({ ...shortRange, ...filter }, page))
    assert.match(plan, new RegExp(`\\b${index}\\b`))
    assert.doesNotMatch(plan, /Seq Scan/)
  })
}

test('a page from the middle of the list starts where the previous one ended', async () => {
  const first = await store.calls({ visible: {}, to: new Date('2026-03-01') }, page)
  const after = first.at(-1)?.place
  const plan = await planOf(() => store.calls({ visible: {}, to: new Date('2026-03-01') }, { ...page, after }))
  assert.match(plan, /Index Scan Backward using usage_by_time/)
  assert.match(plan, /Index Cond: .*created_at <= .*interval/)
  assert.doesNotMatch(plan, /Seq Scan/)
})
