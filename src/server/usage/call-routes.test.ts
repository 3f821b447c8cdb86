import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addLedgerRows, ledgerRow } from '../../../test/support/keys/ledger-rows.ts'
import { freshDatabase } from '../../../test/support/service/database.ts'
import { storedSession } from '../../../test/support/sessions/session-rows.ts'
import type { UsageCall, UsageFigures, UsageGroup } from '../../contract/usage.ts'
import { type Caller, masterCaller } from '../http/caller.ts'
import { createServer } from '../http/server.ts'
import { createLog } from '../platform/log.ts'
import { reportStore } from './report-store.ts'
import { serveUsage } from './routes.ts'

const { db, pool } = await freshDatabase()
const team: Caller = { ...masterCaller, principal: 'team', role: 'user', ownerScope: 'team' }
const app = createServer({
  authenticate: ({ headers }) => (headers['x-caller'] === 'team' ? team : masterCaller),
  log: createLog('silent'),
})
serveUsage(app, {
  ledger: reportStore(db),
  records: { has: async (id, { role }) => role === 'admin' && id === 'req_mine' },
})

const ofVersion = async (version: number): Promise<string> => {
  const id = await storedSession(pool)
  await pool.query(`update sessions set agent_id = 'agent_1', agent_version = $2 where id = $1`, [id, version])
  return id
}
const [older, newer] = [await ofVersion(1), await ofVersion(2)]
const day = { created_at: new Date('2026-03-01T12:00:00Z') }
const agent = { ...day, agent_id: 'agent_1' }
await addLedgerRows(db, [
  ledgerRow('client', { ...day, outcome: 'aborted', status: null, price_source: 'catalogue 2' }),
  ledgerRow('old', { ...agent, session_id: older, cost_usd: '0.1', price_source: 'catalogue 1' }),
  ledgerRow('new', { ...agent, session_id: newer, cost_usd: '0.2', price_source: 'catalogue 2' }),
  ledgerRow('slow', { ...agent, session_id: newer, outcome: 'failed', status: 529 }),
  ledgerRow('refused', { ...agent, session_id: newer, outcome: 'failed', status: 400, cost_usd: null }),
  ledgerRow('gone', { ...day, outcome: 'lost', status: null }),
  ledgerRow('mine', { ...day, owner_id: 'team' }),
])

const get = async <T>(path: string, caller = 'master'): Promise<T> => {
  const answer = await app.inject({ url: path, headers: { 'x-caller': caller } })
  assert.equal(answer.statusCode, 200, answer.body)
  return answer.json()
}
const range = 'from=2026-03-01&to=2026-03-02'
const report = (query: string) => get<{ totals: UsageFigures; groups: UsageGroup[] }>(`/api/usage?${range}&${query}`)
const ids = async (query: string) =>
  (await get<{ calls: UsageCall[] }>(`/api/usage/calls?${range}&${query}`)).calls.map(({ id }) => id).sort()

test('the version of an agent is that of the session; calls of clients have none', async () => {
  const { groups } = await report('group_by=agent,version')
  assert.deepEqual(
    groups.map(({ by, requests }) => [by['agent'], by['version'], requests]).sort(),
    [
      [null, null, 3],
      ['agent_1', '1', 1],
      ['agent_1', '2', 3],
    ].sort(),
  )
  assert.deepEqual(await ids('agent_id=agent_1&agent_version=1'), ['old'])
  assert.equal((await report('agent_version=2')).totals.requests, 3)
  const { calls } = await get<{ calls: UsageCall[] }>(`/api/usage/calls?${range}&session_id=${newer}&limit=1`)
  assert.equal(calls[0]?.agent_version, 2)
})

test('each outcome without an answer has a count, and the price sources are listed once', async () => {
  const { totals, groups } = await report('group_by=agent')
  assert.deepEqual(
    [totals.requests, totals.failed_requests, totals.aborted_requests, totals.lost_requests],
    [7, 2, 1, 1],
  )
  assert.deepEqual(totals.price_sources, ['catalogue 1', 'catalogue 2'])
  assert.deepEqual(groups.find(({ by }) => by['agent'] === null)?.price_sources, ['catalogue 2'])
})

test('calls are filtered by status, by class of status and by cost', async () => {
  assert.deepEqual(await ids('status=529'), ['slow'])
  assert.deepEqual(await ids('status=4xx'), ['refused'])
  assert.deepEqual(await ids('status=5xx'), ['slow'])
  assert.deepEqual(await ids('min_cost_usd=0.1'), ['new', 'old'])
  assert.deepEqual(await ids('min_cost_usd=0.1000000000000000001'), ['new'])
  assert.equal((await report('status=2xx')).totals.requests, 3)
  for (const query of ['status=6xx', 'status=20', 'min_cost_usd=-1', 'min_cost_usd=cheap', 'agent_version=latest']) {
    const answer = await app.inject(`/api/usage/calls?${query}`)
    assert.equal(answer.statusCode, 400, query)
    assert.match(answer.json().error.message, new RegExp(query.split('=')[0] ?? ''))
  }
})

test('one call is read by its request id, with whether its bodies can be read', async () => {
  type Shown = UsageCall & { has_bodies: boolean }
  const call = await get<Shown>('/api/usage/calls/req_mine')
  assert.deepEqual([call.id, call.outcome, call.has_bodies], ['mine', 'completed', true])
  assert.equal((await get<Shown>('/api/usage/calls/req_mine', 'team')).has_bodies, false)
  assert.equal((await get<Shown>('/api/usage/calls/req_old')).has_bodies, false)
  for (const [id, caller] of [
    ['req_old', 'team'],
    ['req_unknown', 'master'],
  ] as const) {
    const answer = await app.inject({ url: `/api/usage/calls/${id}`, headers: { 'x-caller': caller } })
    assert.equal(answer.statusCode, 404)
    assert.match(
      answer.json().error.message,
      new RegExp(`call ${id} not found; calls are recorded at most 100 ms after`),
    )
  }
})
