import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { McpTool, McpToolResult } from '../../../contract/mcp.ts'
import type { KeyAccess } from '../../http/caller.ts'
import { AppError, notFound } from '../../platform/errors.ts'
import { createLog } from '../../platform/log.ts'
import { failureResult } from '../../tools/tool.ts'
import { type CallableTool, type RunTool, toolsOfSources } from '../../tools/tool-source.ts'
import type { RegisteredServer } from '../registry/server.ts'
import { serverOfUrl } from '../registry/url-server.ts'
import { createAgentMcp } from './agent-mcp.ts'

const toolNamed = (name: string, more: object = {}): McpTool => ({ name, inputSchema: { type: 'object' }, ...more })
const wiki = { ...serverOfUrl({ name: 'wiki', url: 'https://wiki.example/mcp' }), server_id: 'mcp_1' }

interface Rig {
  readonly server?: Partial<RegisteredServer>
  readonly tools?: readonly McpTool[]
  readonly held?: readonly string[]
  readonly call?: () => Promise<McpToolResult>
  readonly agent?: { readonly tools?: unknown; readonly config?: Readonly<Record<string, unknown>> }
  readonly key?: Partial<KeyAccess>
}

const log = createLog('silent')
const limits = { resultChars: 1_000, previewChars: 100 }

/** The tools of a run, and a way to call them. */
async function runOf({ server, tools = [], held = [], call = async () => ({ content: [] }), agent, key }: Rig) {
  const mcp = createAgentMcp({
    servers: {
      async find(name) {
        if (name !== 'wiki') throw notFound('MCP server', name)
        return { ...wiki, ...server }
      },
    },
    tools: { offered: async () => ({ tools, held }), accepted: async () => tools, callTool: call },
    credentialFor: async () => undefined,
  })
  const stop = new AbortController()
  const listed = await toolsOfSources(
    mcp.sources({
      agent: { tools: {}, config: { mcp_servers: ['wiki'] }, ...agent },
      sessionId: 'ses_1',
      payer: async () => ({ principal: 'ada', key: key as KeyAccess }),
      model: { images: false, documents: false },
      openSandbox: async () => assert.fail('no result is long'),
    }),
    { signal: stop.signal, log },
  )
  const calling = async (name: string) => {
    const tool = listed.byName.get(name) as CallableTool
    const context = { signal: stop.signal, limits, log }
    return tool.call({}, context).catch((error: AppError) => failureResult(error.message))
  }
  return { ...listed, calling, stop }
}
const factsOf = (tool: RunTool | undefined) => [tool?.policy, tool?.reads, tool?.idempotent, tool?.mcp]

test('tools have names of the aggregate server, and the policy of the agent or the stricter one of the server', async () => {
  const { byName } = await runOf({
    server: { require_approval: ['write'] },
    tools: [
      toolNamed('read', { annotations: { readOnlyHint: true } }),
      toolNamed('write'),
      toolNamed('put', { annotations: { idempotentHint: true } }),
      toolNamed('denied'),
    ],
    agent: {
      tools: [
        { type: 'mcp_toolset', mcp_server_name: 'wiki', configs: [{ name: 'denied', permission_policy: 'deny' }] },
      ],
    },
  })
  const place = (tool: string) => ({ server: 'wiki', tool })
  assert.deepEqual([...byName.keys()], ['wiki__read', 'wiki__write', 'wiki__put'])
  assert.deepEqual(factsOf(byName.get('wiki__read')), ['allow', true, true, place('read')])
  assert.deepEqual(factsOf(byName.get('wiki__write')), ['ask', false, false, place('write')])
  assert.deepEqual(factsOf(byName.get('wiki__put')), ['allow', false, true, place('put')])
  const always = await runOf({ server: { require_approval: 'always' }, tools: [toolNamed('read')] })
  assert.equal(always.byName.get('wiki__read')?.policy, 'ask')
})

test('the log is warned about held tools, tools that are too large or too many, and names that do not exist', async () => {
  const many = Array.from({ length: 1_002 }, (_, at) => toolNamed(`t${at}`))
  const { byName, warnings } = await runOf({
    tools: [toolNamed('huge', { description: 'x'.repeat(40_000) }), ...many],
    held: ['changed', 'off'],
    agent: {
      tools: [
        { type: 'mcp_toolset', mcp_server_name: 'wiki', configs: [{ name: 'gone' }, { name: 'off', enabled: false }] },
      ],
    },
  })
  assert.equal(byName.size, 1_000)
  assert.deepEqual(
    warnings.map(({ type, message }) => [type, message.split(': ').at(-1)]),
    [
      ['mcp_tools_held', 'changed'],
      ['mcp_tools_left_out', 'huge, t1000, t1001'],
      ['mcp_tools_missing', 'gone'],
    ],
  )
  assert.match(warnings[0]?.message ?? '', /POST \/v1\/mcp\/server\/mcp_1\/accept/)
})

test('a failing call is an error for the model, and an interrupted one ends at once', async () => {
  const unreachable = new AppError('upstream_unreachable', 'MCP server wiki is unreachable')
  const broken = await runOf({ tools: [toolNamed('read')], call: () => Promise.reject(unreachable) })
  assert.deepEqual(await broken.calling('wiki__read'), failureResult('MCP server wiki is unreachable'))
  const hanging = await runOf({ tools: [toolNamed('read')], call: () => new Promise(() => undefined) })
  const result = hanging.calling('wiki__read')
  hanging.stop.abort()
  assert.deepEqual(await result, failureResult('cancelled'))
})

test('a server that does not exist, or a URL that a limited key may not use, has no tools', async () => {
  const url = { type: 'url', name: 'own', url: 'https://own.example/mcp' }
  const agent = { config: { mcp_servers: ['gone', url, 'wiki'] } }
  const { byName, failures, warnings } = await runOf({
    tools: [toolNamed('read')],
    agent,
    key: { mcpServers: ['wiki'] },
  })
  assert.deepEqual([...byName.keys()], ['wiki__read'])
  assert.deepEqual(
    warnings.map(({ type }) => type),
    ['mcp_server_failed', 'mcp_server_failed'],
  )
  assert.match(failures[1] ?? '', /the tools of MCP server own cannot be listed: MCP server own not found/)
  const free = await runOf({ tools: [toolNamed('read')], agent })
  assert.deepEqual([...free.byName.keys()], ['own__read', 'wiki__read'])
})
