import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startMemoriesApp } from '../../../test/support/sessions/memories-app.ts'

const { pool, call, find, newAgent } = await startMemoriesApp()

const pathOf = (agent: string) => `POST /api/v1/managed_agents/agents/${agent}/mcp`
const post = (agent: string, message: object, headers: Record<string, string> = {}) =>
  call(pathOf(agent), { jsonrpc: '2.0', ...message }, 'ada', headers)

/** Returns the response to a request with id 7. */
async function ask(agent: string, method: string, params?: object) {
  const answer = await post(agent, { id: 7, method, ...(params && { params }) })
  assert.equal(answer.statusCode, 200, answer.body)
  const { jsonrpc, id, ...outcome } = answer.json()
  assert.deepEqual([jsonrpc, id], ['2.0', 7])
  return outcome
}
const callTool = async (agent: string, name: string, args: object) =>
  ask(agent, 'tools/call', { name, arguments: args })

test('initialize returns the protocol version of the client, or the newest', async () => {
  const agent = await newAgent()
  const version = async (protocolVersion?: string) =>
    (await ask(agent, 'initialize', { protocolVersion, capabilities: {}, clientInfo: { name: 'c', version: '1' } }))
      .result
  for (const known of ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'])
    assert.equal((await version(known)).protocolVersion, known)
  const { protocolVersion, capabilities, serverInfo } = await version('1999-01-01')
  assert.deepEqual(
    [protocolVersion, capabilities, serverInfo.name],
    ['2025-11-25', { tools: {} }, 'switchyard-memories'],
  )
  assert.deepEqual(await ask(agent, 'ping'), { result: {} })
})

test('a notification or a response of the client is 202 without a body', async () => {
  const agent = await newAgent()
  for (const message of [{ method: 'notifications/initialized' }, { id: 1, result: {} }]) {
    const answer = await post(agent, message)
    assert.deepEqual([answer.statusCode, answer.body], [202, ''])
  }
})

test('the tools are listed with their schemas', async () => {
  const { result } = await ask(await newAgent(), 'tools/list')
  assert.deepEqual(
    result.tools.map(({ name }: { name: string }) => name),
    ['save_memory', 'search_memory'],
  )
  for (const { inputSchema } of result.tools) assert.equal(inputSchema.type, 'object')
})

test('save stores a memory of the agent, and search finds and counts it', async () => {
  const agent = await newAgent()
  const saved = await callTool(agent, 'save_memory', { text: 'The build runs on Linux', priority: 2 })
  const [memory] = await find(agent)
  assert.deepEqual(saved.result, { content: [{ type: 'text', text: `saved as ${memory?.id}` }], isError: false })
  assert.deepEqual(
    [memory?.text, memory?.priority, memory?.source, memory?.session_id, memory?.created_by],
    ['The build runs on Linux', 2, 'agent', null, 'ada'],
  )
  const found = await callTool(agent, 'search_memory', { query: 'which builds' })
  assert.match(found.result.content[0].text, /runs on Linux/)
  assert.equal((await find(agent))[0]?.times_applied, 1)
  const { rows } = await pool.query(`select principal, action from audit_log where object_id = $1`, [memory?.id])
  assert.deepEqual(rows, [{ principal: 'ada', action: 'memory.create' }])
})

test('invalid arguments return a tool error that names the field, and an unknown tool or method a JSON-RPC error', async () => {
  const agent = await newAgent()
  const { result } = await callTool(agent, 'save_memory', { text: 5 })
  assert.equal(result.isError, true)
  assert.match(result.content[0].text, /text must be string/)
  assert.equal((await callTool(agent, 'bash', { command: 'ls' })).error.code, -32_602)
  assert.equal((await ask(agent, 'tools/call')).error.code, -32_602)
  assert.equal((await ask(agent, 'resources/list')).error.code, -32_601)
  assert.deepEqual(await find(agent), [])
})

test('an invalid message and an unsupported version are 400', async () => {
  const agent = await newAgent()
  for (const body of [{ method: 'ping', id: 1 }, { jsonrpc: '1.0' }, [{ jsonrpc: '2.0', id: 1, method: 'ping' }]])
    assert.equal((await call(pathOf(agent), body)).statusCode, 400)
  const ping = { id: 1, method: 'ping' }
  assert.equal((await post(agent, ping, { 'mcp-protocol-version': '1999-01-01' })).statusCode, 400)
  assert.equal((await post(agent, ping, { 'mcp-protocol-version': '2025-06-18' })).statusCode, 200)
})

test('S10: the agent of another owner is 404 for every method', async () => {
  const agent = await newAgent('bob')
  for (const message of [{ id: 1, method: 'initialize' }, { method: 'notifications/initialized' }]) {
    const answer = await post(agent, message)
    assert.deepEqual([answer.statusCode, answer.json()], [404, { error: `agent ${agent} not found` }])
  }
})

test('S10: a program of a session reaches only the memories of its own agent', async () => {
  const [own, other] = [await newAgent(), await newAgent()]
  const program = { 'x-program-of': own }
  const save = {
    id: 1,
    method: 'tools/call',
    params: { name: 'save_memory', arguments: { text: 'Kept by a program' } },
  }
  const refused = await post(other, save, program)
  assert.deepEqual([refused.statusCode, refused.json()], [404, { error: `agent ${other} not found` }])
  assert.deepEqual(await find(other), [])
  assert.match((await post(own, save, program)).body, /saved as mem_/)
  const [memory] = await find(own)
  assert.deepEqual(
    [memory?.text, memory?.source, memory?.session_id, memory?.created_by],
    ['Kept by a program', 'agent', 'ses_1', 'ada'],
  )
  const columns = 'principal, role, key_id, address, request_id'
  const { rows } = await pool.query(`select ${columns} from audit_log where object_id = $1`, [memory?.id])
  assert.deepEqual(rows, [{ principal: 'ada', role: 'agent', key_id: 'key_1', address: null, request_id: null }])
})

test('a program of a session gets only the tools of its agent, and no other memory route', async () => {
  const agent = await newAgent()
  const program = { 'x-program-of': agent }
  const { result } = (await post(agent, { id: 1, method: 'tools/list' }, program)).json()
  assert.deepEqual(
    result.tools.map(({ name }: { name: string }) => name),
    ['save_memory'],
  )
  const search = { id: 1, method: 'tools/call', params: { name: 'search_memory', arguments: { query: 'x' } } }
  assert.equal((await post(agent, search, program)).json().error.code, -32_602)
  const base = `/api/v1/managed_agents/agents/${agent}`
  for (const line of [`GET ${base}/memory`, `GET ${base}/memories/export`, `DELETE ${base}/memory/mem_x`])
    assert.equal((await call(line, undefined, undefined, program)).statusCode, 403, line)
})
