import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addLedgerRows, ledgerRow } from '../../../test/support/keys/ledger-rows.ts'
import { freshDatabase } from '../../../test/support/service/database.ts'
import type { UsageCall, UsageFigures, UsageGroup } from '../../contract/usage.ts'
import { type Caller, masterCaller } from '../http/caller.ts'
import { createServer } from '../http/server.ts'
import { createLog } from '../platform/log.ts'
import { reportStore } from './report-store.ts'
import { serveUsage } from './routes.ts'

const { db } = await freshDatabase()

const key = (id: string) => ({ id, models: [], isLimited: false, isNarrow: false, expires: false })
const callers: Readonly<Record<string, Caller>> = {
  master: masterCaller,
  admin: { ...masterCaller, principal: 'key_admin', key: key('key_admin') },
  'scoped admin': { principal: 'team', role: 'admin', ownerScope: 'team', key: key('key_team_admin') },
  scoped: { principal: 'team', role: 'user', ownerScope: 'team', key: key('key_team') },
  labelled: { principal: 'key_label', role: 'user', ownerScope: undefined, key: key('key_label') },
}
const app = createServer({
  authenticate: ({ headers }) => callers[String(headers['x-caller'] ?? 'master')] ?? assert.fail('no such caller'),
  log: createLog('silent'),
})
const ledger = reportStore(db)
serveUsage(app, { ledger, records: { has: async () => false } })

interface Report {
  readonly from: string
  readonly to: string
  readonly timezone: string
  readonly group_by: string[]
  readonly totals: UsageFigures
  readonly groups: UsageGroup[]
  readonly has_more: boolean
}
const get = async <T>(path: string, caller = 'master'): Promise<T> => {
  const answer = await app.inject({ url: path, headers: { 'x-caller': caller } })
  assert.equal(answer.statusCode, 200, answer.body)
  return answer.json()
}
const all = 'from=2026-01-01&to=2027-01-01'
const report = (query = '', caller?: string) => get<Report>(`/api/usage?${all}&${query}`, caller)
const calls = async (query = '', caller?: string) =>
  (await get<{ calls: UsageCall[]; next_cursor: string | null }>(`/api/usage/calls?${query}`, caller)).calls
const refusal = async (path: string): Promise<string> => {
  const answer = await app.inject(path)
  assert.equal(answer.statusCode, 400, `${path}: ${answer.body}`)
  return answer.json().error.message
}

const at = (time: string) => ({ created_at: new Date(time) })
const tokens = {
  input_tokens: 1,
  cache_read_tokens: 20,
  cache_write_5m_tokens: 300,
  cache_write_1h_tokens: 4_000,
  output_tokens: 50_000,
  reasoning_tokens: 40_000,
  web_searches: 2,
}
const team = { owner_id: 'team', key_id: 'key_team', principal: 'team' }
const label = { key_id: 'key_label', principal: 'key_label' }
await addLedgerRows(db, [
  ledgerRow('u1', {
    ...at('2026-03-28T22:30:00Z'),
    ...tokens,
    ...team,
    cost_usd: '0.000000000001',
    first_content_ms: 10,
  }),
  ledgerRow('u2', {
    ...at('2026-03-28T23:30:00Z'),
    ...tokens,
    ...team,
    cost_usd: '0.100000000002',
    first_content_ms: 20,
  }),
  ledgerRow('u3', { ...at('2026-03-29T00:30:00Z'), ...label, cost_usd: null, estimated: true, alias: 'mystery' }),
  ledgerRow('u4', { ...at('2026-03-29T01:30:00Z'), ...label, cost_usd: '2.50', total_ms: 100 }),
  ledgerRow('u5', { ...at('2026-06-01T10:00:00Z'), alias: 'sonnet', cost_usd: '0.4', outcome: 'failed' }),
  ledgerRow('u6', {
    ...at('2026-06-01T10:59:59Z'),
    alias: 'sonnet',
    cached: true,
    session_id: 'ses_1',
    owner_id: 'team',
  }),
])

test('GET /api/usage sums every kind of token, searches, requests, and the exact cost', async () => {
  const { totals, groups, has_more } = await report('owner_id=team&key_id=key_team')
  assert.deepEqual(totals, {
    requests: 2,
    failed_requests: 0,
    aborted_requests: 0,
    lost_requests: 0,
    input_tokens: 2,
    cache_read_tokens: 40,
    cache_write_5m_tokens: 600,
    cache_write_1h_tokens: 8_000,
    output_tokens: 100_000,
    reasoning_tokens: 80_000,
    web_searches: 4,
    cost_usd: '0.100000000003',
    unpriced_requests: 0,
    cached_requests: 0,
    estimated_requests: 0,
    price_sources: [],
    first_content_ms: { p50: 15, p95: 19.5 },
    total_ms: { p50: 1, p95: 1 },
  })
  assert.deepEqual([groups, has_more], [[], false])
})

test('calls of unknown cost are counted separately, and the sum is null if no cost is known', async () => {
  const { totals, groups } = await report('group_by=model')
  assert.equal(totals.cost_usd, '3.000000000003')
  assert.equal(totals.unpriced_requests, 1)
  assert.equal(totals.estimated_requests, 1)
  const byModel = groups.map(({ by, cost_usd, unpriced_requests }) => [by['model'], cost_usd, unpriced_requests])
  assert.deepEqual(byModel, [
    ['opus', '2.600000000003', 0],
    ['sonnet', '0.4', 0],
    ['mystery', null, 1],
  ])
})

test('without calls all sums are 0, including the cost, and latencies are null', async () => {
  const { totals, groups } = await report('model=nothing&group_by=model')
  assert.deepEqual(groups, [])
  assert.deepEqual([totals.requests, totals.input_tokens, totals.cost_usd, totals.unpriced_requests], [0, 0, '0', 0])
  assert.deepEqual(
    [totals.first_content_ms, totals.total_ms],
    [
      { p50: null, p95: null },
      { p50: null, p95: null },
    ],
  )
})

test('days begin at midnight of the time zone, UTC by default, across changes to daylight saving time', async () => {
  const days = async (query: string) => {
    const range = 'from=2026-01-01&to=2026-05-01'
    const { groups } = await get<Report>(`/api/usage?${range}&group_by=day&${query}`)
    return groups.map(({ by, requests }) => [by['day'], requests])
  }
  assert.deepEqual(await days(''), [
    ['2026-03-28', 2],
    ['2026-03-29', 2],
  ])
  assert.deepEqual(await days('timezone=Europe/Berlin'), [
    ['2026-03-28', 1],
    ['2026-03-29', 3],
  ])
  assert.deepEqual(await days('timezone=Pacific/Kiritimati'), [['2026-03-29', 4]])
})

test('hours are identified by their start in UTC, and groups are sorted by time', async () => {
  const { groups } = await report('group_by=hour,model')
  assert.deepEqual(
    groups.map(({ by, requests }) => [by['hour'], by['model'], requests]),
    [
      ['2026-03-28T22:00:00Z', 'opus', 1],
      ['2026-03-28T23:00:00Z', 'opus', 1],
      ['2026-03-29T00:00:00Z', 'mystery', 1],
      ['2026-03-29T01:00:00Z', 'opus', 1],
      ['2026-06-01T10:00:00Z', 'sonnet', 2],
    ],
  )
  const india = (await report('group_by=hour&model=sonnet&timezone=Asia/Kolkata')).groups
  assert.deepEqual(
    india.map(({ by }) => by['hour']),
    ['2026-06-01T09:30:00Z', '2026-06-01T10:30:00Z'],
  )
})

test('up to three dimensions make groups; a missing value is null', async () => {
  const { groups, group_by } = await report('group_by=owner,key,outcome')
  assert.deepEqual(group_by, ['owner', 'key', 'outcome'])
  assert.deepEqual(
    groups.map(({ by, requests }) => [by['owner'], by['key'], by['outcome'], requests]),
    [
      [null, 'key_label', 'completed', 2],
      [null, null, 'failed', 1],
      ['team', 'key_team', 'completed', 2],
      ['team', null, 'completed', 1],
    ],
  )
  for (const name of ['agent', 'session', 'deployment', 'provider']) {
    const sum = (await report(`group_by=${name}`)).groups.reduce((total, { requests }) => total + requests, 0)
    assert.equal(sum, 6, name)
  }
})

test('limit bounds the groups and sets has_more; the totals cover all groups', async () => {
  const { groups, totals, has_more } = await report('group_by=hour&limit=2')
  assert.deepEqual([groups.length, totals.requests, has_more], [2, 6, true])
  assert.equal((await report('group_by=hour&limit=5')).has_more, false)
})

test('from and to are a half-open range that the answer repeats; the default is the last 30 days', async () => {
  const within = (range: string) => get<Report>(`/api/usage?${range}`)
  assert.equal((await within('from=2026-03-28T22:30:00Z&to=2026-03-28T23:30:00Z')).totals.requests, 1)
  assert.equal((await within('from=2026-03-28T22:30:00Z&to=2026-03-28T23:30:01Z')).totals.requests, 2)
  const berlin = await within('from=2026-03-29&to=2026-03-30&timezone=Europe/Berlin')
  assert.deepEqual(
    [berlin.from, berlin.to, berlin.timezone, berlin.totals.requests],
    ['2026-03-28T23:00:00.000Z', '2026-03-29T22:00:00.000Z', 'Europe/Berlin', 3],
  )
  const recent = await within('')
  assert.equal(Date.parse(recent.to) - Date.parse(recent.from), 30 * 86_400_000)
  assert.ok(Math.abs(Date.parse(recent.to) - Date.now()) < 60_000)
})

for (const [path, message] of [
  ['/api/usage?group_by=colour', /group_by has the unknown dimension "colour"; use key, /],
  ['/api/usage?group_by=key,owner,agent,model', /group_by has more than 3 dimensions/],
  ['/api/usage?timezone=Mars/Olympus', /timezone must be/],
  ['/api/usage?timezone=%2B02:00', /timezone must be/],
  ['/api/usage?from=soon', /from must be/],
  ['/api/usage?to=2026-02-30', /to must be/],
  ['/api/usage?from=2026-02-02&to=2026-02-02', /to must be later/],
  ['/api/usage?from=2999-01-01', /from must be earlier/],
  ['/api/usage?limit=0', /limit/],
  ['/api/usage?format=pdf', /format/],
  ['/api/usage?key_id=', /key_id/],
  ['/api/usage/calls?timezone=nowhere', /timezone must be/],
  ['/api/usage/calls?cursor=no', /cursor/],
  ['/api/usage/calls?from=1', /from must be/],
] as const) {
  test(`GET ${path} is 400 and names the field`, async () => assert.match(await refusal(path), message))
}

test('a time zone that only Node knows is rejected like an unknown one', async () => {
  const filter = { from: new Date('2026-01-01'), to: new Date('2027-01-01'), visible: {} }
  const report = ledger.report({ filter, groupBy: ['day'], timezone: 'Mars/Olympus', limit: 1 })
  await assert.rejects(report, { code: 'invalid_request', message: /^timezone / })
})

test('GET /api/usage/calls lists every field of the ledger', async () => {
  const rates = { input: '0.000003', output: '0.000015' }
  const units = { second: 1.5 }
  await addLedgerRows(db, [
    ledgerRow('full', {
      ...at('2026-02-01T00:00:00Z'),
      ...tokens,
      agent_id: 'agent_1',
      prompt_id: 'msg_1',
      run_id: 'run_1',
      batch_id: 'batch_1',
      client_session_id: 'cs',
      client_agent_id: 'ca',
      client_parent_id: 'cp',
      attempts: 3,
      estimated: true,
      cost_usd: '1.230000',
      held_usd: '100',
      rates: JSON.stringify(rates),
      units: JSON.stringify(units),
      price_source: 'catalogue 2026-07-01',
      cached: true,
      degraded: 'top_k=dropped',
      first_content_ms: 12.5,
      total_ms: 99.25,
    }),
  ])
  const [call] = await calls('request_id=req_full')
  assert.deepEqual(call, {
    id: 'full',
    created_at: '2026-02-01T00:00:00.000Z',
    request_id: 'req_full',
    principal: 'master',
    key_id: null,
    owner_id: null,
    agent_id: 'agent_1',
    agent_version: null,
    session_id: null,
    prompt_id: 'msg_1',
    run_id: 'run_1',
    batch_id: 'batch_1',
    client_session_id: 'cs',
    client_agent_id: 'ca',
    client_parent_id: 'cp',
    model: 'opus',
    deployment: 'opus.1',
    provider: 'anthropic',
    upstream_model: 'claude-opus-5',
    protocol: 'anthropic-messages',
    lane: 'raw',
    outcome: 'completed',
    stop_reason: 'end_turn',
    status: 200,
    attempts: 3,
    ...tokens,
    units,
    estimated: true,
    cost_usd: '1.23',
    held_usd: '100',
    rates,
    price_source: 'catalogue 2026-07-01',
    cached: true,
    degraded: 'top_k=dropped',
    first_content_ms: 12.5,
    total_ms: 99.25,
  })
})

test('calls come newest first, with the filters of the report, and paging loses none with equal times', async () => {
  const rows = Array.from({ length: 25 }, (_, n) =>
    ledgerRow(`page_${n}`, { ...at('2025-05-05T05:05:05.005Z'), alias: 'paged' }),
  )
  await addLedgerRows(db, rows)
  const seen: string[] = []
  let cursor = ''
  do {
    const page = await get<{ calls: UsageCall[]; next_cursor: string | null }>(
      `/api/usage/calls?model=paged&limit=4${cursor}`,
    )
    seen.push(...page.calls.map(({ id }) => id))
    cursor = page.next_cursor === null ? '' : `&cursor=${page.next_cursor}`
  } while (cursor !== '')
  assert.deepEqual(
    seen,
    rows
      .map(({ id }) => id)
      .sort()
      .reverse(),
  )
  const ids = async (query: string) => (await calls(query)).map(({ id }) => id)
  assert.deepEqual(await ids(`${all}&model=sonnet`), ['u6', 'u5'])
  assert.deepEqual(await ids('session_id=ses_1'), ['u6'])
  assert.deepEqual(await ids('outcome=failed'), ['u5'])
  assert.deepEqual(await ids('principal=team'), ['u2', 'u1'])
  assert.deepEqual(await ids('owner_id=team&from=2026-03-28T23:00:00Z&to=2026-03-29'), ['u2'])
})

test('S10: owners see their own calls, keys without an owner the calls of that key, admins all calls', async () => {
  const seenBy = async (caller: string, query = '') => {
    const { totals } = await report(query, caller)
    const listed = (await calls(`${all}&limit=200&${query}`, caller)).map(({ id }) => id).sort()
    const csv = await app.inject({
      url: `/api/usage/calls?${all}&${query}&format=csv`,
      headers: { 'x-caller': caller },
    })
    const group = await app.inject({ url: `/api/usage?${all}&${query}&format=csv`, headers: { 'x-caller': caller } })
    assert.equal(totals.requests, listed.length)
    assert.equal(csv.body.split('\r\n').length - 2, listed.length)
    assert.match(group.body.split('\r\n')[1] ?? '', new RegExp(`^${listed.length},`))
    return listed
  }
  const mine = ['u1', 'u2', 'u6']
  assert.deepEqual(await seenBy('scoped'), mine)
  assert.deepEqual(await seenBy('scoped admin'), mine)
  assert.deepEqual(await seenBy('labelled'), ['u3', 'u4'])
  for (const caller of ['master', 'admin']) {
    assert.deepEqual(await seenBy(caller), ['full', 'u1', 'u2', 'u3', 'u4', 'u5', 'u6'])
  }
  assert.deepEqual(await seenBy('scoped', 'key_id=key_label'), [])
  assert.deepEqual(await seenBy('scoped', 'owner_id=other'), [])
  assert.deepEqual(await seenBy('labelled', 'key_id=key_team'), [])
  assert.deepEqual(await seenBy('labelled', 'owner_id=team'), [])
})

test('S47: format=csv returns groups or calls as files, and no cell starts a formula', async () => {
  await addLedgerRows(db, [
    ledgerRow('evil', { ...at('2024-01-02T00:00:00Z'), alias: '=1+1', degraded: '@x, "y"', price_source: '@v1' }),
  ])
  const groups = await app.inject('/api/usage?from=2024-01-01&to=2024-02-01&group_by=day,model&format=csv&limit=1')
  assert.equal(groups.headers['content-disposition'], 'attachment; filename="usage.csv"')
  assert.equal(groups.headers['x-content-type-options'], 'nosniff')
  assert.equal(
    groups.body,
    'day,model,requests,failed_requests,aborted_requests,lost_requests,input_tokens,cache_read_tokens,' +
      'cache_write_5m_tokens,cache_write_1h_tokens,output_tokens,reasoning_tokens,web_searches,cost_usd,unpriced_requests,' +
      'cached_requests,estimated_requests,price_sources,first_content_ms_p50,first_content_ms_p95,total_ms_p50,total_ms_p95\r\n' +
      "2024-01-02,'=1+1,1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,'@v1,,,1,1\r\n",
  )
  const rows = await app.inject('/api/usage/calls?model=%3D1%2B1&format=csv')
  assert.equal(rows.headers['content-disposition'], 'attachment; filename="usage-calls.csv"')
  assert.match(rows.body, /^id,created_at,request_id,/)
  assert.match(rows.body, /,'=1\+1,opus\.1,/)
  assert.match(rows.body, /,"'@x, ""y""",/)
})
