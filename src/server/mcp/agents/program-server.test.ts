import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { McpTool } from '../../../contract/mcp.ts'
import { type Behalf, type Caller, masterCaller } from '../../http/caller.ts'
import { createServer } from '../../http/server.ts'
import { AppError } from '../../platform/errors.ts'
import { createLog } from '../../platform/log.ts'
import { serverOfUrl } from '../registry/url-server.ts'
import { createProgramServer } from './program-server.ts'

const tools: McpTool[] = ['look', 'edit', 'hidden'].map(name => ({ name, inputSchema: { type: 'object' } }))
const called: string[] = []
let approvals = 0
const answer = createProgramServer({
  agentMcp: { resolved: async ({ name }) => serverOfUrl({ name, url: 'https://wiki.example/mcp' }) },
  tools: {
    listTools: async () => tools,
    async callTool(_server, _by, { name }) {
      called.push(name)
      if (name === 'look') return { content: [{ type: 'text', text: 'seen' }] }
      throw new AppError('upstream_unreachable', 'MCP server wiki is unreachable')
    },
  },
})
const behalf = {
  mcpServers: [
    { name: 'wiki', url: undefined, tools: { look: 'allow', edit: 'ask' } },
    { name: 'dead', url: undefined, tools: {} },
  ],
  mayCall: ({ tool }) => tool === 'look' || approvals-- > 0,
} as Partial<Behalf> as Behalf

const program: Caller = { ...masterCaller, role: 'user', behalf }
const app = createServer({ authenticate: async () => program, log: createLog('silent') })
app.route<{ Params: { server: string } }>({
  method: ['GET', 'POST'],
  url: '/mcp/:server',
  config: { route: { access: 'key', errorShape: 'jsonrpc', isForPrograms: true } as never },
  onRequest(request, reply, fail) {
    answer(request as never, reply, (request.params as { server: string }).server).catch(fail)
  },
  handler: () => assert.fail('the hook answers'),
})

async function ask(method: string, params: object = {}, server = 'wiki') {
  const payload = { jsonrpc: '2.0', id: 7, method, params }
  const { statusCode, body } = await app.inject({ method: 'POST', url: `/mcp/${server}`, payload })
  return { status: statusCode, ...(body === '' ? {} : (JSON.parse(body) as Record<string, never>)) } as {
    status: number
    result: Record<string, unknown>
    error: { code: number; message: string }
  }
}
const call = async (name: string) => {
  const { result, error } = await ask('tools/call', { name, arguments: {} })
  return error ? error.code : [(result['content'] as { text: string }[])[0]?.text, result['isError'] ?? false]
}

test('a program initializes, and gets the granted tools of its run', async () => {
  const { result } = await ask('initialize', { protocolVersion: '2025-06-18' })
  assert.deepEqual([result['protocolVersion'], result['capabilities']], ['2025-06-18', { tools: {} }])
  assert.deepEqual((await ask('ping')).result, {})
  const { result: listed } = await ask('tools/list')
  assert.deepEqual(
    (listed['tools'] as McpTool[]).map(({ name }) => name),
    ['look', 'edit'],
  )
  assert.deepEqual((await ask('tools/list', {}, 'dead')).result, { tools: [] })
})

test('a program calls granted tools only, and one that needs approval once per approval; a failure is a result', async () => {
  assert.deepEqual(await call('look'), ['seen', false])
  assert.deepEqual(await call('edit'), [
    'edit requires the approval of a person, which this program did not request',
    true,
  ])
  assert.equal(await call('hidden'), -32_602)
  assert.equal(await call('constructor'), -32_602)
  approvals = 1
  assert.deepEqual(await call('edit'), ['MCP server wiki is unreachable', true])
  assert.deepEqual(called, ['look', 'edit'])
})

test('other servers are 404, and other methods are rejected', async () => {
  assert.equal((await ask('ping', {}, 'other')).status, 404)
  assert.equal((await ask('resources/list')).error.code, -32_601)
  assert.equal((await app.inject({ method: 'GET', url: '/mcp/wiki' })).statusCode, 405)
  const note = { jsonrpc: '2.0', method: 'notifications/initialized' }
  assert.equal((await app.inject({ method: 'POST', url: '/mcp/wiki', payload: note })).statusCode, 202)
  assert.equal((await app.inject({ method: 'POST', url: '/mcp/wiki', payload: '[1]' })).statusCode, 400)
})
