import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AppError } from '../../platform/errors.ts'
import { RpcFailure } from '../client/json-rpc.ts'
import { agentIdOf, agentToolName } from './agent-tools.ts'
import { canElicit } from './capabilities.ts'
import { checkModern } from './modern-request.ts'
import { answerOf, inputRequestsOf } from './questions.ts'
import { readTools, requestOf, resultOfAnswer } from './read-tools.ts'
import { questionIn } from './waiting.ts'

const digits = '01a2148a843f768bb436f8566d418e98'

test('the tool of an agent has a short, separate name, which means the agent even after it was renamed', () => {
  const id = `agent_${digits}`
  const names = [
    ['Research Assistant (beta)', `research-assista_${digits}`],
    ['Äsop', `a-sop_${digits}`],
    ['日本', `agent_${digits}`],
  ] as const
  for (const [name, expected] of names) {
    assert.equal(agentToolName({ id, name }), expected)
    assert.match(expected, /^[a-zA-Z0-9_-]{1,49}$/)
    assert.equal(agentIdOf(expected), id)
  }
  assert.equal(agentIdOf(digits), id)
  for (const other of ['list_agents', `x${digits}`, `agent_${digits}0`, 'agent_', ''])
    assert.equal(agentIdOf(other), undefined)
})

test('reads become requests of the API; other arguments and paths are rejected', () => {
  const requests = [
    ['get_agent', { agent_id: 'agent_1' }, '/api/agents/agent_1'],
    ['list_agents', {}, '/api/agents'],
    ['list_agents', { limit: 2, cursor: 'a b' }, '/api/agents?limit=2&cursor=a+b'],
    ['list_session_events', { session_id: 'ses_1', types: ['a', 'b'] }, '/v1/sessions/ses_1/events?types=a&types=b'],
  ] as const
  for (const [name, args, expected] of requests) assert.equal(requestOf(name, args), expected)
  const rejected = [
    ['get_agent', {}, /argument agent_id must be an id/],
    ['get_agent', { agent_id: 'a/../../keys' }, /argument agent_id must be an id/],
    ['list_agents', { owner_id: 'x' }, /unknown argument owner_id; known arguments: limit, cursor/],
    ['list_agents', { limit: { gt: 1 } }, /argument limit must be string/],
  ] as const
  for (const [name, args, message] of rejected)
    assert.throws(
      () => requestOf(name, args),
      (error: unknown) => error instanceof AppError && message.test(error.message),
    )
  for (const { inputSchema } of readTools) {
    const { properties } = JSON.parse(JSON.stringify(inputSchema)) as { properties: Record<string, unknown> }
    for (const [name, schema] of Object.entries(properties)) assert.ok(schema, name)
  }
})

test('an answer of the API is the result; an array gets a name, an error of any shape its message', () => {
  const answer = { status: 200, nextCursor: 'c' }
  const structured = (name: string, text: string) => resultOfAnswer(name, { ...answer, text })['structuredContent']
  assert.deepEqual(structured('get_agent', '{"id":"a"}'), { id: 'a' })
  assert.deepEqual(structured('list_sessions', '[{"id":"s"}]'), { sessions: [{ id: 's' }], next_cursor: 'c' })
  for (const text of ['{"error":"no"}', '{"error":{"type":"x","message":"no"}}', 'no'])
    assert.deepEqual(resultOfAnswer('get_agent', { ...answer, status: 404, text }), {
      content: [{ type: 'text', text: 'no' }],
      isError: true,
    })
  assert.throws(() => structured('get_agent', `{"a":"${'x'.repeat(1_000_000)}"}`), /pass a smaller limit/)
})

const approval = { id: 'evt_1', name: 'bash', input: { command: 'ls' }, isCustom: false }
const custom = { ...approval, id: 'evt_2', name: 'report', isCustom: true }

test('questions are forms, and a response becomes the event that answers', () => {
  const requests = inputRequestsOf([approval, { ...custom, input: { a: 'x'.repeat(9_000) } }], 'Ada')
  assert.equal(requests['evt_1']?.params.message, 'Agent Ada asks for approval to call bash with {"command":"ls"}.')
  assert.match(requests['evt_2']?.params.message ?? '', /your tool report with .{4000} \(shortened\)/)

  const decided = (response: unknown) => answerOf(approval, response)
  const confirmation = { type: 'user.tool_confirmation', tool_use_id: 'evt_1' }
  const accept = (content: unknown) => ({ action: 'accept', content })
  assert.deepEqual(decided(accept({ decision: 'approve' })), { ...confirmation, result: 'allow' })
  assert.deepEqual(decided(accept({ decision: 'deny' })), { ...confirmation, result: 'deny' })
  assert.deepEqual(decided(accept({ decision: 'deny', reason: 'no' })), {
    ...confirmation,
    result: 'deny',
    deny_message: 'no',
  })
  for (const action of ['decline', 'cancel']) assert.equal((decided({ action }) as { result?: string }).result, 'deny')

  const result = { type: 'user.custom_tool_result', custom_tool_use_id: 'evt_2' }
  const content = [{ type: 'text', text: 'ok' }]
  assert.deepEqual(answerOf(custom, accept({ result: 'ok' })), { ...result, content })
  assert.deepEqual(answerOf(custom, accept({ result: 'ok', is_error: true })), { ...result, content, is_error: true })
  assert.equal((answerOf(custom, { action: 'decline' }) as { is_error?: boolean }).is_error, true)

  const misfits: readonly (readonly [typeof approval, unknown, RegExp])[] = [
    [approval, undefined, /inputResponses\.evt_1\.action must be "accept"/],
    [approval, accept({ decision: 'yes' }), /inputResponses\.evt_1\.content\.decision must be/],
    [custom, accept({}), /inputResponses\.evt_2\.content\.result must be string/],
  ]
  for (const [question, response, message] of misfits) assert.throws(() => answerOf(question, response), message)
})

test('only the ids of our own questions are read as such', () => {
  assert.deepEqual(questionIn('question:msg_1:evt_1'), { taskId: 'msg_1', question: 'evt_1' })
  for (const id of [1, null, 'x', 'question:msg_1', 'answer:a:b']) assert.equal(questionIn(id), undefined)
})

test('a client shows forms if its capability is empty or names them', () => {
  for (const elicitation of [{}, { form: {} }, { form: {}, url: {} }]) assert.ok(canElicit({ elicitation }))
  for (const capabilities of [{}, { elicitation: null }, { elicitation: { url: {} } }])
    assert.ok(!canElicit(capabilities))
})

test('a modern request must repeat its revision, method and name in headers', () => {
  const meta = (version: string) => ({
    'io.modelcontextprotocol/protocolVersion': version,
    'io.modelcontextprotocol/clientCapabilities': {},
  })
  const codeOf = (method: string, params: object, headers: Record<string, string>, version = '2026-07-28') => {
    const sent: Record<string, string> = { 'mcp-protocol-version': version, 'mcp-method': method, ...headers }
    try {
      checkModern({ method, params: { _meta: meta(version), ...params } }, name => sent[name])
    } catch (error) {
      return error instanceof RpcFailure ? error.code : error
    }
    return undefined
  }
  assert.equal(codeOf('tools/list', {}, {}), undefined)
  assert.equal(codeOf('tools/call', { name: 'a' }, { 'mcp-name': 'a' }), undefined)
  assert.equal(codeOf('tools/call', { name: 'a' }, {}), -32020)
  assert.equal(codeOf('tools/call', { name: 'a' }, { 'mcp-name': 'b' }), -32020)
  assert.equal(codeOf('tasks/get', { taskId: 'a' }, {}), undefined)
  assert.equal(codeOf('tasks/get', { taskId: 'a' }, { 'mcp-name': 'b' }), -32020)
  assert.equal(codeOf('tools/list', {}, { 'mcp-method': 'ping' }), -32020)
  assert.equal(codeOf('tools/list', {}, {}, '2027-01-01'), -32022)
  assert.equal(codeOf('tools/list', { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } }, {}), -32602)
})
