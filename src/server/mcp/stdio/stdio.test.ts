import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { type McpCaller, startMcpApp } from '../../../../test/support/mcp/mcp-app.ts'
import type { McpServer, McpServerTest } from '../../../contract/mcp.ts'
import { masterCaller, serviceActor } from '../../http/caller.ts'
import { countRunning, sandboxesForTests } from '../../sandboxes/sandboxes-for-tests.ts'
import { serverWith } from './stdio-for-tests.ts'

const require = createRequire(import.meta.url)
const programs = {
  everything: require.resolve('@modelcontextprotocol/server-everything/dist/index.js'),
  filesystem: require.resolve('@modelcontextprotocol/server-filesystem/dist/index.js'),
  memory: require.resolve('@modelcontextprotocol/server-memory/dist/index.js'),
}

const app = await startMcpApp({ sandboxes: await sandboxesForTests('bubblewrap') })

const secret = 'a-secret-of-the-vault'
await app.vault.set(
  { key: 'everything-token', value: secret, scope: 'global' },
  { caller: masterCaller, actor: serviceActor },
)
app.configured.push(
  serverWith('files', { command: ['node', programs.filesystem, '/workspace'] }),
  serverWith('graph', { command: ['node', programs.memory], env: { MEMORY_FILE_PATH: '/workspace/graph.jsonl' } }),
  serverWith('everything', {
    command: ['node', programs.everything, 'stdio'],
    vaultEnv: { TOKEN: 'everything-token' },
  }),
  serverWith('broken', { command: ['node', '-e', 'console.error("no database"); process.exit(3)'] }),
  serverWith('trusted', { command: ['node', programs.memory], isolation: 'none' }),
  serverWith('needy', { command: ['node', programs.memory], vaultEnv: { KEY: 'absent' } }),
)

async function connect(path: string, caller: McpCaller = 'ana') {
  const client = new Client({ name: 'test', version: '1' })
  const transport = new StreamableHTTPClientTransport(new URL(`${app.url}${path}`), {
    requestInit: { headers: { 'x-api-key': caller } },
  })
  await client.connect(transport as Parameters<typeof client.connect>[0])
  return client
}

const firstText = (result: unknown): string => (result as { content: { text?: string }[] }).content[0]?.text ?? ''
const rest = (server_id: string, name: string, args: object) =>
  app.call('ana', 'POST /mcp-rest/tools/call', { server_id, name, arguments: args })

test('the files server writes and reads its workspace, over the proxy, the aggregate and REST', async () => {
  const tested = await app.call<McpServerTest>('master', 'POST /v1/mcp/server/files/test')
  assert.equal(tested.body.ok, true, tested.text)
  const path = '/workspace/note.txt'
  const proxied = await connect('/mcp/files')
  assert.ok((await proxied.listTools()).tools.some(({ name }) => name === 'write_file'))
  await proxied.callTool({ name: 'write_file', arguments: { path, content: 'from the proxy' } })
  await proxied.close()

  const aggregate = await connect('/mcp')
  const { tools } = await aggregate.listTools()
  for (const name of ['files__read_text_file', 'graph__read_graph', 'everything__echo', 'trusted__read_graph'])
    assert.ok(
      tools.some(each => each.name === name),
      name,
    )
  assert.match(
    firstText(await aggregate.callTool({ name: 'files__read_text_file', arguments: { path } })),
    /from the proxy/,
  )
  await aggregate.close()
  assert.match((await rest('files', 'read_text_file', { path })).text, /from the proxy/)

  const { body } = await app.call<McpServer>('master', 'GET /v1/mcp/server/files')
  assert.deepEqual([body.transport, body.url, body.status, body.era], ['stdio', null, 'healthy', 'legacy'])
})

test('the memory server stores a graph; each server has a separate workspace', async () => {
  const client = await connect('/graph/mcp')
  await client.callTool({
    name: 'create_entities',
    arguments: { entities: [{ name: 'Ana', entityType: 'person', observations: ['likes tea'] }] },
  })
  assert.match(firstText(await client.callTool({ name: 'read_graph', arguments: {} })), /likes tea/)
  await client.close()
  assert.doesNotMatch((await rest('files', 'list_directory', { path: '/workspace' })).text, /graph\.jsonl/)
  const running = await countRunning(programs.memory)
  await (await connect('/mcp/graph', 'bo')).close()
  assert.equal(await countRunning(programs.memory), running, 'all clients share one program')
})

test('clients share one program: same request ids, progress and cancelled calls stay apart', async () => {
  const clients = await Promise.all([connect('/mcp/everything'), connect('/mcp/everything', 'bo')])
  const words = await Promise.all(
    clients.map((client, at) => client.callTool({ name: 'echo', arguments: { message: `word ${at}` } })),
  )
  for (const [at, word] of words.entries()) assert.match(firstText(word), new RegExp(`word ${at}`))
  const [first, second] = clients
  const cancel = new AbortController()
  const steps: number[][] = [[], []]
  const slow = first?.callTool(
    { name: 'trigger-long-running-operation', arguments: { duration: 600, steps: 6_000 } },
    undefined,
    { signal: cancel.signal, timeout: 60_000, onprogress: () => cancel.abort() },
  )
  const quick = second?.callTool(
    { name: 'trigger-long-running-operation', arguments: { duration: 0.2, steps: 2 } },
    undefined,
    { timeout: 60_000, onprogress: ({ progress }) => steps[1]?.push(progress) },
  )
  await Promise.all([assert.rejects(Promise.resolve(slow)), quick])
  assert.deepEqual(steps[1], [1, 2])
  const capabilities = first?.getServerCapabilities()
  assert.equal(capabilities?.logging, undefined)
  assert.deepEqual(capabilities?.resources, {})
  await assert.rejects(Promise.resolve(first?.setLoggingLevel('debug')), /logging|not supported/)
  await assert.rejects(Promise.resolve(first?.subscribeResource({ uri: 'demo://x' })), /subscribe/)
  await Promise.all(clients.map(client => client.close()))
})

test('a vault entry reaches the program and is removed from its answers; the variables of the service do not', async () => {
  const { text } = await rest('everything', 'get-env', {})
  assert.match(text, /TOKEN/)
  assert.doesNotMatch(text, new RegExp(secret))
  assert.doesNotMatch(text, /npm_|GATEWAY_MASTER_KEY/)
})

test('a program that ends at once names its errors and starts again only after a pause', async () => {
  const first = await app.call<McpServerTest>('master', 'POST /v1/mcp/server/broken/test')
  assert.match(first.body.error ?? '', /MCP server broken .*no database/)
  const second = await app.call<McpServerTest>('master', 'POST /v1/mcp/server/broken/test')
  assert.match(second.body.error ?? '', /starts again in \d+ s/)
  assert.match((await rest('needy', 'read_graph', {})).text, /needs the vault entry absent, which does not exist/)
})

test('without an isolating sandbox a program does not start', async () => {
  const weak = await startMcpApp({ sandboxes: await sandboxesForTests('virtual') })
  weak.configured.push(
    serverWith('files', { command: ['node', programs.filesystem, '/workspace'] }),
    serverWith('trusted', { command: ['node', programs.memory], isolation: 'none' }),
  )
  const answer = await weak.call('ana', 'GET /mcp-rest/tools/list?server_id=files')
  assert.equal(answer.status, 503)
  assert.match(answer.text, /isolated programs need .*sandbox: none/)
  assert.equal((await weak.call('ana', 'GET /mcp-rest/tools/list?server_id=trusted')).status, 200)
})

test('S30: the API registers no program', async () => {
  const answer = await app.call('master', 'POST /v1/mcp/server', {
    server_name: 'own',
    url: 'https://tools.example.com',
    transport: 'stdio',
    command: 'touch',
    args: ['/tmp/x'],
  })
  assert.equal(answer.status, 400)
  assert.match(answer.text, /configuration file only|command/)
})
