import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startMcpApp } from '../../../../test/support/mcp/mcp-app.ts'
import { legacyScript, sendJson, startScriptedUpstream, tool } from '../../../../test/support/mcp/scripted-upstream.ts'
import { freshDatabase } from '../../../../test/support/service/database.ts'
import type { McpCall, McpCallSummary } from '../../../contract/mcp-calls.ts'
import type { McpCallTable } from '../../db/tables/mcp.ts'
import { pause } from '../../platform/timers.ts'
import { createMcpCallLog } from './call-log.ts'
import { mcpCallStore } from './store.ts'

const called = {
  by: { principal: 'ana', key: undefined },
  server: { server_id: 'mcp_1', server_name: 'files' },
}

interface CallPage {
  readonly calls: McpCall[]
  readonly next_cursor: string | null
}

test('calls of the proxy, the aggregate and REST are listed with outcome, latency and sizes, without contents', async () => {
  const app = await startMcpApp()
  const upstream = await startScriptedUpstream(
    legacyScript(
      () => [tool('echo'), tool('fail'), tool('break')],
      ({ body }, response) => {
        const { name } = body['params'] as { name: string }
        if (name === 'break') return response.destroy()
        const result = { content: [{ type: 'text', text: 'hidden' }], ...(name === 'fail' && { isError: true }) }
        return sendJson(response, { jsonrpc: '2.0', id: body['id'], result })
      },
    ),
  )
  const { server_id } = await app.registered({ server_name: 'files', url: upstream.url })
  const params = (name: string) => ({ name, arguments: { text: 'hidden' } })
  const message = (name: string) => ({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: params(name) })
  await app.call('ana', 'POST /mcp/files', message('echo'))
  await app.call('ana', 'POST /mcp/files', message('fail'))
  await app.call('ana', 'POST /mcp', message('files__echo'))
  await app.call('bo', 'POST /mcp-rest/tools/call', { server_id, ...params('break') })
  await app.call('bo', 'POST /mcp/files', { jsonrpc: '2.0', id: 1, method: 'tools/list' })

  const list = async (query = '', caller: 'master' | 'ana' | 'bo' = 'master') =>
    (await app.call<CallPage>(caller, `GET /v1/mcp/calls${query}`)).body
  for (let tries = 0; tries < 200 && (await list()).calls.length < 4; tries++) await pause(50)
  const { calls, next_cursor } = await list()
  const shown = calls.map(({ via, tool: name, outcome, error_code, principal, key_id }) => [
    via,
    name,
    outcome,
    error_code,
    principal,
    key_id,
  ])
  assert.deepEqual(shown, [
    ['rest', 'break', 'failed', 'upstream_unreachable', 'bo', 'key_bo'],
    ['aggregate', 'echo', 'completed', null, 'ana', 'key_ana'],
    ['proxy', 'fail', 'tool_error', null, 'ana', 'key_ana'],
    ['proxy', 'echo', 'completed', null, 'ana', 'key_ana'],
  ])
  assert.equal(next_cursor, null)
  for (const call of calls) {
    assert.deepEqual([call.server_id, call.server_name], [server_id, 'files'])
    assert.ok(call.ms >= 0 && call.request_bytes > 0)
    assert.equal(call.response_bytes > 0, call.outcome !== 'failed')
  }
  assert.doesNotMatch(JSON.stringify(calls), /hidden/)

  const first = await list('?limit=3')
  const rest = await list(`?limit=3&cursor=${first.next_cursor}`)
  assert.deepEqual([...first.calls, ...rest.calls], calls)
  assert.equal((await list('?outcome=tool_error&server=files')).calls.length, 1)
  assert.equal((await list('?tool=echo&principal=ana')).calls.length, 2)
  assert.equal((await list('?key_id=key_bo')).calls.length, 1)
  assert.equal((await list('?via=proxy')).calls.length, 2)
  assert.equal((await list('?to=2020-01-01')).calls.length, 0)
  const sums = async (query: string, caller: 'master' | 'ana' = 'master') =>
    (await app.call<{ data: McpCallSummary[] }>(caller, `GET /v1/mcp/calls/summary${query}`)).body.data
  const [ofServer, ...others] = await sums('')
  assert.deepEqual(
    [ofServer?.server_id, ofServer?.tool, ofServer?.calls, ofServer?.tool_errors, ofServer?.failed, others],
    [server_id, null, 4, 1, 1, []],
  )
  assert.equal(ofServer?.last_call_at, calls[0]?.created_at)
  assert.equal(
    ofServer?.total_ms,
    calls.reduce((sum, { ms }) => sum + ms, 0),
  )
  assert.deepEqual(
    (await sums('?group_by=tool')).map(({ server_name, tool: name, calls: count }) => [server_name, name, count]),
    [
      ['files', 'echo', 2],
      ['files', 'break', 1],
      ['files', 'fail', 1],
    ],
  )
  assert.equal((await sums('?server=files', 'ana'))[0]?.calls, 3)
  assert.deepEqual(await sums('?tool=nothing'), [])
  assert.equal((await list('?principal=bo', 'ana')).calls.length, 3, 'others see their own calls only')
})

test('a batch is stored once, even if an insert is repeated with further rows', async () => {
  const { pool, db } = await freshDatabase()
  const store = mcpCallStore(pool, db)
  const log = createMcpCallLog({ store: { insert: async rows => void given.push(...rows) }, log: { warn() {} } })
  const given: McpCallTable[] = []
  for (const tool of ['first\tof\\all', 'second'])
    log.begin({ ...called, tool, via: 'rest', requestBytes: 1 })({ outcome: 'completed', responseBytes: 1 })
  await log.flush()
  await store.insert(given.slice(0, 1))
  await store.insert(given)
  const listed = await store.list({}, { after: undefined, limit: 10 })
  assert.deepEqual(listed.map(({ call }) => call.tool).sort(), ['first\tof\\all', 'second'])
  const first = listed.find(({ call }) => call.id === given[0]?.id)
  assert.equal(first?.call.created_at, given[0]?.created_at.toISOString())
})

test('unwritten rows are bounded, a failed batch is written again, and rows lost are counted', async () => {
  const written: McpCallTable[] = []
  const warnings: string[] = []
  let isFailing = true
  const log = createMcpCallLog({
    store: {
      async insert(rows) {
        if (isFailing) throw new Error('unreachable')
        written.push(...rows)
      },
    },
    log: { warn: (_fields: unknown, text?: string) => void warnings.push(text ?? '') },
  })
  for (let at = 0; at < 10_050; at++)
    log.begin({ ...called, tool: 'x'.repeat(300), via: 'rest', requestBytes: 1 })({
      outcome: 'completed',
      responseBytes: 1,
    })
  await log.flush()
  assert.equal(written.length, 0)
  isFailing = false
  await log.stop()
  assert.equal(written.length, 10_000)
  assert.equal(written[0]?.tool.length, 200)
  assert.ok(warnings.some(text => /dropped rows/.test(text)))
})
