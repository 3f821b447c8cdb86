import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { Client as ModernClient, StreamableHTTPClientTransport as ModernTransport } from '@modelcontextprotocol/client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import type { Agent } from '../../src/contract/agents.ts'
import type { Session } from '../../src/contract/sessions.ts'
import { holderOf } from '../support/keys/virtual-keys.ts'
import { freshDatabase } from '../support/service/database.ts'
import { eventually } from '../support/service/eventually.ts'
import { send, type Target } from '../support/service/send.ts'
import { startService } from '../support/service/service.ts'
import { bash, configFor, saying } from '../support/upstream/scripted-service.ts'
import { startScriptedUpstream } from '../support/upstream/scripted-upstream.ts'

const upstream = await startScriptedUpstream()
const { url: databaseUrl } = await freshDatabase()
const options = { databaseUrl, config: configFor(upstream) }
let service = await startService(options)
after(async () => {
  await service.stop()
  await upstream.stop()
})
const bob = await holderOf(service, { owner_id: 'bob' })

async function ok<T>(line: string, body?: unknown): Promise<T> {
  const answer = await send(service, line, body === undefined ? {} : { body })
  assert.ok(answer.status < 300, `${line}: ${answer.status} ${answer.text}`)
  return answer.json<T>()
}
const newAgent = (more: object) =>
  ok<Agent>('POST /api/agents', { name: 'Scribe', owner_id: 'ada', model: 'scripted', ...more })
const asking = {
  tools: [{ type: 'agent_toolset_20260401', default_config: { permission_policy: { type: 'always_ask' } } }],
}
const report = { type: 'custom', name: 'report', description: 'Reports', input_schema: { type: 'object' } }
const agent = await newAgent({ description: 'Writes notes' })
const careful = await newAgent({ name: 'Careful one', ...asking })
const helper = await newAgent({ name: 'Helper', tools: [report] })
const typed = await newAgent({
  name: 'Typed',
  config: { output_schema: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] } },
})
const digits = ({ id }: Agent) => id.replace('agent_', '')
const scribe = `scribe_${digits(agent)}`
const cautious = `careful-one_${digits(careful)}`
const mayI = (command: string) => saying({ text: 'May I?', ...bash(command) }, { text: 'All done.' })

interface Result {
  readonly isError?: boolean
  readonly content: readonly { readonly text?: string }[]
  readonly structuredContent?: Readonly<Record<string, unknown>>
}
const textsOf = (result: unknown) => (result as Result).content.map(({ text }) => text)
const structured = (result: unknown) => (result as Result).structuredContent ?? {}
const url = () => new URL(`${service.url}/mcp/switchyard`)
const headersOf = (target: Target) => ({ requestInit: { headers: { 'x-api-key': target.key ?? '' } } })

async function legacyClient(capabilities = {}, target: Target = service) {
  const client = new Client({ name: 'test', version: '1' }, { capabilities })
  await client.connect(
    new StreamableHTTPClientTransport(url(), headersOf(target)) as Parameters<typeof client.connect>[0],
  )
  return client
}
async function modernClient(capabilities = {}) {
  const client = new ModernClient(
    { name: 'test', version: '1' },
    { capabilities, versionNegotiation: { mode: { pin: '2026-07-28' } } },
  )
  await client.connect(new ModernTransport(url(), headersOf(service)))
  return client
}
const statusOf = async (id: unknown) => (await ok<Session>(`GET /session/${id}`)).status
const newestSession = async (of: Agent) => (await ok<Session[]>(`GET /session?agent_id=${of.id}&limit=1`))[0]

/** Sends one modern request as the extension for tasks describes, which the official clients do not support. */
const version = '2026-07-28'
async function rpc(method: string, params: Record<string, unknown>, { tasks = true, headers = {} } = {}) {
  const capabilities = tasks ? { extensions: { 'io.modelcontextprotocol/tasks': {} } } : {}
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': version,
    'io.modelcontextprotocol/clientCapabilities': capabilities,
  }
  const name = params['name'] ?? params['taskId']
  const answer = await send(service, 'POST /mcp/switchyard', {
    headers: {
      'mcp-protocol-version': version,
      'mcp-method': method,
      ...(typeof name === 'string' && { 'mcp-name': name }),
      accept: 'application/json, text/event-stream',
      ...headers,
    },
    body: { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } },
  })
  const { result = {}, error } = answer.json<{
    result?: Record<string, unknown>
    error?: { code: number; message: string; data?: unknown }
  }>()
  return { status: answer.status, result, error }
}
type Task = Record<string, unknown> & {
  readonly status: string
  readonly inputRequests?: Record<string, { params: { message: string; requestedSchema: { properties: object } } }>
  readonly result?: Result
}
const taskIn = async (taskId: unknown): Promise<Task> => (await rpc('tasks/get', { taskId })).result as Task
const taskUntil = (taskId: unknown, status: string) =>
  eventually(async () => {
    const task = await taskIn(taskId)
    return task.status === status && task
  })

test('both eras list the agents of the key and the reads of the API; other keys see only their own', async () => {
  const expected = [`typed_${digits(typed)}`, `helper_${digits(helper)}`, cautious, scribe]
  for (const client of [await legacyClient(), await modernClient()]) {
    const { tools } = await client.listTools()
    const names = tools.map(({ name }) => name)
    assert.deepEqual(names.slice(-4), expected)
    assert.ok(['get_result', 'list_sessions', 'list_session_events', 'get_usage'].every(name => names.includes(name)))
    const tool = tools.find(({ name }) => name === scribe)
    assert.deepEqual([tool?.title, tool?.description], ['Scribe', 'Agent Scribe: Writes notes'])
    await client.close()
  }
  const others = await legacyClient({}, bob)
  assert.equal((await others.listTools()).tools.filter(({ title }) => title).length, 0)
  await assert.rejects(others.callTool({ name: scribe, arguments: { prompt: 'x' } }), /not a tool that this key may/)
  await others.close()
  const without = await holderOf(service, { owner_id: 'ada', mcp_servers: ['tickets'] })
  await assert.rejects(legacyClient({}, without), /not found/)
  const few = await holderOf(service, {
    owner_id: 'ada',
    mcp_servers: ['switchyard'],
    mcp_tools: { switchyard: [agent.id, 'list_models'] },
  })
  const narrow = await legacyClient({}, few)
  assert.deepEqual(
    (await narrow.listTools()).tools.map(({ name }) => name),
    ['list_models', scribe],
  )
  await assert.rejects(narrow.callTool({ name: cautious, arguments: { prompt: 'x' } }), /not a tool that this key may/)
  await narrow.close()
  await ok(`POST /api/agents/${helper.id}/pause`)
  const client = await modernClient()
  assert.equal(
    (await client.listTools()).tools.some(({ title }) => title === 'Helper'),
    false,
  )
  await ok(`POST /api/agents/${helper.id}/resume`)
  await client.close()
  for (const method of ['GET', 'DELETE'])
    assert.equal(
      (await send(service, `${method} /mcp/switchyard`, { headers: { accept: 'text/event-stream' } })).status,
      405,
    )
})

test('a call is a session; the next one continues there; a mistake is a result that the model can read', async () => {
  for (const client of [await legacyClient(), await modernClient()]) {
    const call = (args: Record<string, unknown>, name = scribe) => client.callTool({ name, arguments: args })
    const first = await client.callTool({ name: scribe, arguments: { prompt: saying({ text: 'Noted.' }) } })
    const { session_id } = structured(first)
    assert.deepEqual([textsOf(first), structured(first)['text']], [['Noted.'], 'Noted.'])
    const second = await call({ prompt: saying({ text: 'Again.' }), session_id })
    assert.deepEqual([structured(second)['session_id'], textsOf(second)], [session_id, ['Again.']])
    const number = await call({ prompt: saying({ text: '{"n": 4}' }) }, `typed_${digits(typed)}`)
    assert.deepEqual(structured(number)['result'], { n: 4 })
    const failed = await call({ prompt: saying({ status: 400 }) })
    assert.equal((failed as Result).isError, true)
    for (const [args, message] of [
      [{}, /argument prompt must be a text/],
      [{ prompt: 'x', model: 'y' }, /unknown argument model/],
      [{ prompt: 'x', session_id: 'ses_none' }, /not found/],
    ] as const) {
      const result = await call(args)
      assert.equal((result as Result).isError, true)
      assert.match(textsOf(result)[0] ?? '', message)
    }
    await client.close()
  }
})

test('reads have the records and errors of the API', async () => {
  const client = await modernClient()
  const call = async (name: string, args = {}) => structured(await client.callTool({ name, arguments: args }))
  assert.deepEqual(await call('get_agent', { agent_id: agent.id }), await ok(`GET /api/agents/${agent.id}`))
  const listed = (await call('list_sessions', { agent_id: agent.id, limit: 1 })) as {
    sessions: Session[]
    next_cursor: string
  }
  const { id: session_id = '' } = listed.sessions[0] ?? {}
  assert.deepEqual(listed.sessions, await ok(`GET /session?agent_id=${agent.id}&limit=1`))
  const next = await call('list_sessions', { agent_id: agent.id, limit: 1, cursor: listed.next_cursor })
  assert.notDeepEqual(next['sessions'], listed.sessions)
  assert.deepEqual(
    await call('list_session_events', { session_id, types: ['user.message', 'agent.message'] }),
    await ok(`GET /v1/sessions/${session_id}/events?types=user.message&types=agent.message`),
  )
  const done = await call(scribe, { prompt: saying({ text: 'Kept.' }) })
  assert.deepEqual(await call('get_result', { session_id: done['session_id'] }), done)
  for (const [name, args, message] of [
    ['get_session', { session_id: 'ses_none' }, /not found/],
    ['get_session', { session_id: '../api/keys' }, /session_id must be an id/],
    ['list_sessions', { limit: 0 }, /limit must be >= 1/],
    ['list_sessions', { directory: '/' }, /unknown argument directory/],
  ] as const) {
    const result = await client.callTool({ name, arguments: args })
    assert.equal((result as Result).isError, true)
    assert.match(textsOf(result)[0] ?? '', message)
  }
  await client.close()
})

test('progress reports what the agent writes; cancelling a call interrupts its session, in both eras', async () => {
  for (const client of [await legacyClient(), await modernClient()]) {
    const cancel = new AbortController()
    const messages: string[] = []
    const onprogress = ({ message = '' }: { message?: string | undefined }) => {
      messages.push(message)
      if (message === 'Begun.') cancel.abort()
    }
    const options = { onprogress, signal: cancel.signal, timeout: 60_000 }
    const params = { name: scribe, arguments: { prompt: saying({ text: 'Begun.', ...bash('sleep 60') }) } }
    await assert.rejects(
      client instanceof Client ? client.callTool(params, undefined, options) : client.callTool(params, options),
    )
    assert.ok(messages.includes('Begun.'))
    const session = await newestSession(agent)
    await eventually(async () => (await statusOf(session?.id)) === 'idle')
    const prompts = await ok<{ data: { state: string }[] }>(`GET /session/${session?.id}/prompts`)
    assert.deepEqual(
      prompts.data.map(({ state }) => state),
      ['cancelled'],
    )
    await client.close()
  }
})

test('an approval is a question to the client: a request during the call, or a result that asks', async () => {
  const questions: string[] = []
  const capabilities = { elicitation: {} }
  const answer = (message: string, decision: string) => {
    questions.push(message)
    return { action: 'accept' as const, content: { decision, ...(decision === 'deny' && { reason: 'not today' }) } }
  }
  for (const decision of ['approve', 'deny']) {
    const legacy = await legacyClient(capabilities)
    legacy.setRequestHandler(ElicitRequestSchema, async ({ params }) => answer(params.message, decision))
    const modern = await modernClient(capabilities)
    modern.setRequestHandler('elicitation/create', async ({ params }) => answer(params.message, decision))
    for (const client of [legacy, modern]) {
      const result = await client.callTool({ name: cautious, arguments: { prompt: mayI(`echo ${decision}`) } })
      assert.deepEqual(textsOf(result), ['May I?', 'All done.'])
      const { session_id } = structured(result)
      const log = await ok(`GET /v1/sessions/${session_id}/events?types=agent.tool_result`)
      assert.match(JSON.stringify(log), decision === 'deny' ? /not today/ : /approve/)
      await client.close()
    }
  }
  assert.equal(questions.length, 4)
  for (const each of questions) assert.match(each, /^Agent Careful one asks for approval to call bash with .*echo/)
})

test('a client without answers waits until someone else decides', async () => {
  const client = await legacyClient()
  const seen: string[] = []
  const call = client.callTool({ name: cautious, arguments: { prompt: mayI('echo x') } }, undefined, {
    onprogress: ({ message = '' }) => seen.push(message),
  })
  const approval = await eventually(async () => {
    const found = await ok<{ approvals: { id: string }[] }>('GET /api/approvals?state=pending')
    return found.approvals[0]
  })
  await eventually(async () => seen.some(text => /asks for approval to call bash/.test(text)))
  const prompts = await ok<{ data: { id: string }[] }>(`GET /session/${(await newestSession(careful))?.id}/prompts`)
  const id = `question:${prompts.data[0]?.id}:${approval.id}`
  const misfit = { jsonrpc: '2.0', id, result: { action: 'accept', content: {} } }
  const refused = await send(service, 'POST /mcp/switchyard', { body: misfit })
  assert.deepEqual([refused.status, /content\.decision must be/.test(refused.text)], [400, true])
  await ok(`POST /api/approvals/${approval.id}`, { result: 'allow' })
  assert.deepEqual(textsOf(await call), ['May I?', 'All done.'])
  await client.close()
})

test('with the extension a call is a task, whose questions are answered after a restart, once', async () => {
  const { result: discovered } = await rpc('server/discover', {})
  assert.deepEqual((discovered['capabilities'] as { extensions: object }).extensions, {
    'io.modelcontextprotocol/tasks': {},
  })
  const key = { headers: { 'idempotency-key': 'mine' } }
  const call = { name: cautious, arguments: { prompt: mayI('echo ran >> log; cat log') } }
  const { result: created } = await rpc('tools/call', call, key)
  const { taskId } = created
  assert.deepEqual([created['resultType'], created['ttlMs']], ['task', null])
  // A fast run may have asked already.
  assert.match(String(created['status']), /^(working|input_required)$/)
  assert.equal((await rpc('tools/call', call, key)).result['taskId'], taskId, 'a repeated call starts nothing')
  const other = await rpc('tools/call', { name: scribe, arguments: { prompt: 'x' } }, key)
  assert.match(textsOf(other.result)[0] ?? '', /Idempotency-Key was already used/)

  const asked = await taskUntil(taskId, 'input_required')
  const [[id, question] = ['', undefined], ...more] = Object.entries(asked.inputRequests ?? {})
  assert.equal(more.length, 0)
  assert.match(question?.params.message ?? '', /asks for approval to call bash/)
  await service.stop()
  service = await startService(options)

  assert.deepEqual(Object.keys((await taskIn(taskId)).inputRequests ?? {}), [id])
  const update = (content: object) =>
    rpc('tasks/update', { taskId, inputResponses: { [id]: { action: 'accept', content }, evt_other: {} } })
  const wrong = await update({ decision: 'maybe' })
  assert.deepEqual([wrong.error?.code, /content\.decision must be/.test(wrong.error?.message ?? '')], [-32602, true])
  for (const _ of [1, 2]) assert.equal((await update({ decision: 'approve' })).result['resultType'], 'complete')
  const { result } = await taskUntil(taskId, 'completed')
  assert.deepEqual(textsOf(result), ['May I?', 'All done.'])
  const log = await ok(`GET /v1/sessions/${structured(result)['session_id']}/events?types=agent.tool_result`)
  assert.equal(JSON.stringify(log).match(/ran/g)?.length, 1)
})

test('a custom tool call is a question whose answer is its result; tasks are cancelled, and only their owner sees them', async () => {
  const prompt = saying({ tool_calls: [{ name: 'report', input: { day: 1 } }] }, { text: 'Reported.' })
  const start = async (name: string, text: string) =>
    (await rpc('tools/call', { name, arguments: { prompt: text } })).result
  const { taskId } = await start(`helper_${digits(helper)}`, prompt)
  const asked = await taskUntil(taskId, 'input_required')
  const [[id, question] = ['', undefined]] = Object.entries(asked.inputRequests ?? {})
  assert.match(question?.params.message ?? '', /calls your tool report with \{"day":1\}/)
  const inputResponses = { [id]: { action: 'accept', content: { result: 'It is sunny.' } } }
  await rpc('tasks/update', { taskId, inputResponses })
  const { result } = await taskUntil(taskId, 'completed')
  assert.deepEqual(textsOf(result), ['Reported.'])
  const events = await ok(`GET /v1/sessions/${structured(result)['session_id']}/events?types=user.custom_tool_result`)
  assert.match(JSON.stringify(events), /It is sunny/)

  const running = await start(scribe, saying(bash('sleep 60')))
  await rpc('tasks/cancel', { taskId: running['taskId'] })
  await taskUntil(running['taskId'], 'cancelled')
  assert.deepEqual((await rpc('tasks/cancel', { taskId: running['taskId'] })).error, undefined)
  const failing = await start(scribe, saying({ status: 400 }))
  assert.equal((await taskUntil(failing['taskId'], 'completed')).result?.isError, true)

  for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
    const params = { inputResponses: {} }
    assert.equal((await rpc(method, { ...params, taskId: 'msg_none' })).error?.code, -32602)
    const refused = await rpc(method, { ...params, taskId }, { tasks: false })
    assert.deepEqual([refused.status, refused.error?.code], [400, -32021])
    const foreign = await rpc(method, { ...params, taskId }, { headers: { 'x-api-key': bob.key ?? '' } })
    assert.equal(foreign.error?.code, -32602)
  }
  assert.deepEqual([(await rpc('tasks/list', {})).status, (await rpc('tasks/list', {})).error?.code], [404, -32601])
  const mismatch = await rpc('tasks/get', { taskId }, { headers: { 'mcp-name': 'msg_other' } })
  assert.deepEqual([mismatch.status, mismatch.error?.code], [400, -32020])
})
