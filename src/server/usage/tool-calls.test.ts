import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from '../../../test/support/service/database.ts'
import { eventually } from '../../../test/support/service/eventually.ts'
import { storedSession } from '../../../test/support/sessions/session-rows.ts'
import type { SessionEvent } from '../../contract/events.ts'
import type { ToolFigures, ToolGroup } from '../../contract/tool-usage.ts'
import { type Caller, masterCaller } from '../http/caller.ts'
import { createServer } from '../http/server.ts'
import { createLog } from '../platform/log.ts'
import { eventStore } from '../sessions/log/event-store.ts'
import { toolCallStore } from './tool-call-store.ts'
import { createToolCallLog } from './tool-calls.ts'
import { serveToolUsage } from './tool-routes.ts'

const { db, pool } = await freshDatabase()
const store = toolCallStore(pool, db)
const callers: Readonly<Record<string, Caller>> = {
  master: masterCaller,
  ada: { ...masterCaller, principal: 'ada', role: 'user', ownerScope: 'ada' },
  bob: { ...masterCaller, principal: 'bob', role: 'user', ownerScope: 'bob' },
}
const app = createServer({
  authenticate: ({ headers }) => callers[String(headers['x-caller'] ?? 'master')] ?? assert.fail('no such caller'),
  log: createLog('silent'),
})
serveToolUsage(app, { calls: store })

interface Report {
  readonly totals: ToolFigures
  readonly groups: ToolGroup[]
  readonly has_more: boolean
}
const range = 'from=2026-03-01&to=2026-03-03'
const report = async (query = '', caller = 'master') => {
  const answer = await app.inject({ url: `/api/usage/tools?${range}&${query}`, headers: { 'x-caller': caller } })
  assert.equal(answer.statusCode, 200, answer.body)
  return answer.json<Report>()
}

let seq = 0
const event = (type: string, fields: object, atMs: number): SessionEvent =>
  ({
    id: `evt_${++seq}`,
    seq,
    type,
    processed_at: new Date(Date.UTC(2026, 2, 1, 12) + atMs).toISOString(),
    ...fields,
  }) as unknown as SessionEvent
const use = (id: string, name: string, fields: object = {}) =>
  event('agent.tool_use', { tool_use_id: id, name, input: {}, ...fields }, 0)
const result = (id: string, atMs: number, fields: object = {}) =>
  event('agent.tool_result', { tool_use_id: id, ...fields }, atMs)

const session = await storedSession(pool)
await pool.query(`update sessions set agent_id = 'agent_1', agent_version = 3 where id = $1`, [session])

const newLog = () => {
  const warnings: unknown[] = []
  return {
    warnings,
    ...createToolCallLog({ store, log: { warn: (...parts: unknown[]) => void warnings.push(parts) } }),
  }
}

test('calls are recorded with their time once they have a result', async () => {
  const log = newLog()
  log.note(session, [use('a', 'bash'), use('b', 'bash'), use('c', 'read', { evaluated_permission: 'ask' })])
  log.note(session, [result('a', 100), result('b', 300, { is_error: true })])
  log.note(session, [result('c', 90_000_000)])
  log.note(session, [
    event('agent.mcp_tool_use', { tool_use_id: 'd', name: 'search', mcp_server_name: 'docs', input: {} }, 0),
    event('agent.mcp_tool_result', { mcp_tool_use_id: 'd' }, 50),
    use('open', 'bash'),
    use('of a thread', 'bash', { session_thread_id: 'ses_other' }),
  ])
  const asked = event('agent.custom_tool_use', { name: 'lookup', input: {} }, 0)
  log.note(session, [asked, event('user.custom_tool_result', { custom_tool_use_id: asked.id }, 7)])
  await log.stop()
  assert.deepEqual(log.warnings, [])
  assert.equal((await pool.query('select from tool_calls')).rowCount, 5)
  const { totals, groups } = await report()
  assert.deepEqual([totals.calls, totals.failed_calls, totals.total_ms], [5, 1, 457])
  assert.deepEqual(
    groups.map(({ by, calls, failed_calls, ms, total_ms }) => [by['tool'], calls, failed_calls, ms.p50, total_ms]),
    [
      ['bash', 2, 1, 200, 400],
      ['docs__search', 1, 0, 50, 50],
      ['lookup', 1, 0, 7, 7],
      ['read', 1, 0, null, 0],
    ],
  )
})

test('names and times that a column cannot hold are shortened', async () => {
  const log = newLog()
  const id = await storedSession(pool)
  log.note(id, [use('long', `${'x'.repeat(199)}\u{1f600}\0`), result('long', 30 * 86_400_000)])
  await log.stop()
  const { rows } = await pool.query('select length(tool) as length, ms from tool_calls where session_id = $1', [id])
  assert.deepEqual([rows, log.warnings], [[{ length: 200, ms: 2_147_483_647 }], []])
})

test('groups, filters, owners and CSV', async () => {
  const { groups } = await report('group_by=agent,version,day')
  assert.deepEqual(
    groups.map(({ by, calls }) => [by['agent'], by['version'], by['day'], calls]),
    [
      ['agent_1', '3', '2026-03-01', 4],
      ['agent_1', '3', '2026-03-02', 1],
    ],
  )
  assert.equal((await report('agent_id=agent_1&agent_version=3&tool=bash')).totals.calls, 2)
  assert.equal((await report('agent_version=2')).totals.calls, 0)
  assert.equal((await report(`session_id=${session}`, 'ada')).totals.calls, 5)
  assert.equal((await report('', 'bob')).totals.calls, 0)
  assert.equal((await report('owner_id=ada', 'bob')).totals.calls, 0)
  assert.deepEqual([(await report('limit=2')).groups.length, (await report('limit=2')).has_more], [2, true])
  const csv = await app.inject(`/api/usage/tools?${range}&format=csv&tool=bash`)
  assert.equal(csv.body, 'tool,calls,failed_calls,ms_p50,ms_p95,total_ms\r\nbash,2,1,200,290,400\r\n')
  for (const query of ['group_by=model', 'from=soon', 'timezone=nowhere', 'limit=0', 'from=2999-01-01']) {
    const answer = await app.inject(`/api/usage/tools?${query}`)
    assert.equal(answer.statusCode, 400, query)
    assert.match(answer.json().error.message, new RegExp(query.split('=')[0] ?? ''))
  }
})

test('a call that another process has stored is found in the log; a result of an unknown call is not recorded', async () => {
  const id = await storedSession(pool)
  const payload = { tool_use_id: 'x', name: 'edit', input: { text: '\0' } }
  await eventStore(pool).append(id, [{ id: 'evt_x', type: 'agent.tool_use', payload }])
  const log = newLog()
  const end = { seq: 2, processed_at: new Date().toISOString() }
  log.note(id, [{ ...result('x', 0), ...end } as SessionEvent, { ...result('unknown', 0), ...end } as SessionEvent])
  await log.stop()
  const found = await eventually(async () => {
    const rows = await pool.query('select tool, agent_version, ms from tool_calls where session_id = $1', [id])
    return rows.rows.length > 0 && rows.rows
  })
  assert.deepEqual(
    found.map(({ tool, agent_version, ms }) => [tool, agent_version, ms >= 0]),
    [['edit', null, true]],
  )
})
