import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Agent } from '../../src/contract/agents.ts'
import type { SessionEvent } from '../../src/contract/events.ts'
import type { Session } from '../../src/contract/sessions.ts'
import { send } from '../support/service/send.ts'
import { startService } from '../support/service/service.ts'

// Nothing answers at the runtimes of these harnesses: no prompt is sent.
const harnesses = [
  { alias: 'cur', api_spec: 'cursor', api_base: 'http://127.0.0.1:9', api_key: 'key-0123456789' },
  { alias: 'remote', api_spec: 'opencode', api_base: 'http://127.0.0.1:9' },
  { alias: 'other', api_spec: 'claude_managed_agents', api_base: 'http://127.0.0.1:9', api_key: 'key-0123456789' },
]
const service = await startService({
  config: JSON.stringify({ outbound: { allow: ['127.0.0.1:9'] }, runtime_harnesses: harnesses }),
})
const agent = { name: 'Ada', owner_id: 'team' }
const header = 'x-switchyard-ignored'

const ask = async (line: string, body: unknown) => {
  const { status, headers, text } = await send(service, line, { body })
  return { status, ignored: headers[header], text }
}

test('D10: POST /session with a misspelt field works and names it, whatever the answer', async () => {
  const made = await ask('POST /session', { titel: 'T', 'x\r\ny: z': 1 })
  assert.deepEqual([made.status, made.ignored], [200, 'titel (did you mean title?), +1'])
  assert.equal((await ask('POST /session', { title: 'T' })).ignored, undefined)
  const refused = await ask('POST /session', { titel: 'T', harness: 'nope' })
  assert.deepEqual([refused.status, refused.ignored], [400, 'titel (did you mean title?)'])
})

test('D10: agents, skills, memories, keys and the served dialects name unknown fields as well', async () => {
  const { id } = (await send(service, 'POST /api/agents', { body: agent })).json<Agent>()
  const dialect = { name: 'Ada', model: 'demo' }
  for (const [line, body] of [
    ['POST /api/agents', agent],
    [`PATCH /api/agents/${id}`, agent],
    ['POST /api/v1/skills', { name: 'S', content: 'c' }],
    [`POST /api/v1/managed_agents/agents/${id}/memory`, { text: 't' }],
    ['POST /api/keys', { label: 'l' }],
    ['POST /v1/agents', dialect],
    [`POST /v1/agents/${id}`, {}],
    ['POST /v1/environments', { name: 'E' }],
  ] as const) {
    const { status, ignored, text } = await ask(line, { ...body, surprise: 1 })
    assert.deepEqual([Math.floor(status / 100), ignored], [2, 'surprise'], `${line}: ${text}`)
  }
})

test('D10: a route of our own rejects an unknown field at any depth, with what was probably meant', async () => {
  const schedule = { name: 'S', agent_id: 'a', cron: '0 9 * * *', prompt: 'p', promt: 'q' }
  const answer = await ask('POST /api/schedules', schedule)
  assert.equal(answer.status, 400)
  assert.match(answer.text, /unknown field \\"promt\\"; did you mean prompt\?/)
  const { id } = (await send(service, 'POST /api/agents', { body: agent })).json<Agent>()
  const file = (await send(service, `GET /api/agents/${id}/export`)).json<{ agent: object }>()
  assert.equal((await ask('POST /api/agents/import', file)).status, 201)
  const nested = await ask('POST /api/agents/import', { ...file, agent: { ...file.agent, sistem: 'x' } })
  assert.equal(nested.status, 400)
  assert.match(nested.text, /unknown field \\"agent\.sistem\\"; did you mean system\?/)
})

const repository = 'https://github.com/o/r'
const eventsOf = async (session: string) =>
  (await send(service, `GET /v1/sessions/${session}/events`)).json<{ data: SessionEvent[] }>().data

test('D4: a repository is kept on every runtime; one that cannot use it is named in the header and once in the log', async () => {
  const environment = { repository, ref: 'main', auto_create_pr: true, other: 1 }
  const made = await ask('POST /session', { runtime: 'remote', environment })
  const { id, environment: kept } = JSON.parse(made.text) as Session
  assert.deepEqual(kept, environment)
  const fields = ['environment.repository', 'environment.ref', 'environment.auto_create_pr']
  assert.equal(made.ignored, fields.join(', '))
  const [warning, ...more] = await eventsOf(id)
  assert.deepEqual(
    [warning?.type, warning?.warning],
    ['session.warning', { type: 'ignored_fields', message: `runtime remote ignores ${fields.join(', ')}`, fields }],
  )
  assert.deepEqual(more, [])
  for (const runtime of ['cur', 'builtin'])
    assert.equal((await ask('POST /session', { runtime, environment })).ignored, undefined)
  const alone = await ask('POST /session', { environment: { ref: 'main' } })
  assert.equal(alone.ignored, 'environment.ref')
  const other = await ask('POST /session', { runtime: 'other', environment })
  assert.equal(other.ignored, 'environment.auto_create_pr')
})

test('packages and networking of an environment are kept, and named where the runtime has no use for them', async () => {
  const agentId = (await send(service, 'POST /api/agents', { body: agent })).json<Agent>().id
  const sessionWith = async (config: object | undefined, metadata = {}) => {
    const made = await send(service, 'POST /v1/environments', { body: { name: 'Lab', config } })
    assert.equal(made.status, 200, made.text)
    const { id: environment_id } = made.json<{ id: string }>()
    return await ask('POST /v1/sessions', { agent: agentId, environment_id, metadata })
  }
  const networking = { type: 'limited', allowed_hosts: ['example.com'] }
  const config = { type: 'cloud', networking, packages: { pip: ['pandas'] } }
  const fields = ['environment.config.networking', 'environment.config.packages']
  const made = await sessionWith(config)
  assert.equal(made.ignored, fields.join(', '), made.text)
  const [warning] = await eventsOf((JSON.parse(made.text) as Session).id)
  assert.deepEqual((warning?.['warning'] as { fields: unknown } | undefined)?.fields, fields)
  assert.equal((await sessionWith({ type: 'self_hosted' })).ignored, 'environment.config.type')
  assert.equal((await sessionWith(undefined)).ignored, undefined, 'defaults are no request')
  assert.equal((await sessionWith(config, { switchyard_runtime: 'other' })).ignored, undefined)
  const plain = await ask('POST /session', { environment: { networking, packages: { pip: ['pandas'] } } })
  assert.equal(plain.ignored, 'environment.networking, environment.packages')
})

test('D4: any item of tools is kept, and named where the runtime of the agent cannot carry it', async () => {
  const tools = [{ type: 'bash' }, { type: 'browser', size: 3 }, 'words', { name: 'x' }]
  const made = await ask('POST /api/agents', { ...agent, tools })
  assert.deepEqual([made.status, made.ignored], [201, 'tools[1], tools[2], tools[3]'])
  const { id, tools: kept } = JSON.parse(made.text) as Agent
  assert.deepEqual(kept, tools)
  const session = await ask('POST /session', { agent_id: id })
  assert.equal(session.ignored, 'tools[1], tools[2], tools[3]')
  const [warning] = await eventsOf((JSON.parse(session.text) as Session).id)
  assert.equal(warning?.type, 'session.warning')
  const moved = await ask(`PATCH /api/agents/${id}`, { ...agent, runtime: 'cur' })
  assert.equal(moved.ignored, 'tools[0], tools[1], tools[2], tools[3]')
})

test('D4: entries that cannot work, and wrong entries of a known type, are 400 in both dialects of agents', async () => {
  const toolset = 'agent_toolset_20260401'
  const mcp = { type: 'mcp_toolset', mcp_server_name: 'wiki' }
  const custom = { type: 'custom', name: 'ring', description: 'Rings', input_schema: { type: 'object' } }
  const wrongSchema = { type: 'object', properties: { times: { type: 'number of times' } } }
  const servers = [{ type: 'url', name: 'wiki', url: 'https://wiki.example/mcp' }]
  for (const [fields, message] of [
    [{ tools: [mcp] }, /tools\[0\]\.mcp_server_name \\"wiki\\" is not an MCP server that this key may use/],
    [{ tools: [mcp], runtime: 'cur' }, /tools\[0\] of type mcp_toolset is not supported/],
    [{ tools: [{ type: 'bash' }, custom], runtime: 'other' }, /tools\[1\] of type custom is not supported/],
    [{ tools: [custom, { ...custom, name: 'bash' }] }, /tools\[1\]\.name bash is the name of a built-in tool/],
    [{ tools: [custom, custom] }, /tools\[1\]\.name ring is already used by another custom tool/],
    [{ tools: [{ ...custom, name: 'ring it' }] }, /tools\[0\]\.name must have 1 to 128 letters/],
    [{ tools: { ...custom, input_schema: { type: 'array' } } }, /tools\.input_schema must be a JSON Schema object/],
    [{ tools: [{ ...custom, input_schema: wrongSchema }] }, /tools\[0\]\.input_schema is not a valid JSON Schema/],
    [{ tools: [{ ...custom, timeout_seconds: 0 }] }, /tools\[0\]\.timeout_seconds must be a whole number/],
    [{ config: { custom_tool_timeout_seconds: 'long' } }, /config\.custom_tool_timeout_seconds must be a whole number/],
    [
      { tools: [{ type: toolset, configs: [{ name: 'bsah' }] }] },
      /tools\[0\]\.configs\[0\]\.name \\"bsah\\" is not a tool; the tools are bash,/,
    ],
    [{ tools: mcp }, /tools\.mcp_server_name/],
    [{ tools: [mcp], runtime: 'other' }, /tools\[0\]\.mcp_server_name \\"wiki\\" is not in mcp_servers/],
    [{ tools: [{ type: toolset, configs: 'bash' }] }, /tools\[0\]\.configs must be a list/],
    [{ tools: [{ type: toolset, configs: [{ enabled: true }] }] }, /tools\[0\]\.configs\[0\]\.name/],
    [{ tools: [{ type: 'bash', enabled: 'no' }] }, /tools\[0\]\.enabled must be true or false/],
    [{ tools: [{ type: 'bash', permission_policy: 'sometimes' }] }, /tools\[0\]\.permission_policy must be one of/],
    [{ tools: { bash: 'no' } }, /tools\.bash must be true, false or an object/],
    [{ mcp_servers: servers, runtime: 'cur' }, /"mcp_servers is not supported/],
    [{ config: { mcp_servers: servers }, runtime: 'cur' }, /config\.mcp_servers is not supported/],
    [{ mcp_servers: ['wiki'], runtime: 'other' }, /mcp_servers\[0\] must have a URL/],
  ] as const) {
    const { status, text } = await ask('POST /api/agents', { ...agent, ...fields })
    assert.equal(status, 400, JSON.stringify(fields))
    assert.match(text, message)
  }
  const unusable = { ...custom, input_schema: wrongSchema }
  for (const fields of [
    { tools: [mcp] },
    { tools: [unusable] },
    { tools: [custom, custom] },
    { mcp_servers: servers, tools: [{ ...mcp, mcp_server_name: 'none' }] },
  ]) {
    const { status, text } = await ask('POST /v1/agents', { name: 'A', model: 'demo', ...fields })
    assert.equal(status, 400, text)
  }
  const carried = { tools: [mcp], config: { mcp_servers: servers }, runtime: 'other' }
  const made = await ask('POST /api/agents', { ...agent, ...carried })
  assert.deepEqual([made.status, made.ignored], [201, undefined], made.text)
})

test('the environment of a runtime whose repository is cloned here is checked', async () => {
  for (const [environment, message] of [
    [{ repository: 'git@github.com:o/r.git' }, /environment\.repository must start with https:.*not cloned over ssh/],
    [
      { repository: 'https://ada:pass@github.com/o/r' },
      /environment\.repository .*store the credential in the vault as git\.github\.com/,
    ],
    [{ source: { repository: 'file:///etc' } }, /environment\.repository must start with https/],
    [{ repository, ref: '--upload-pack=id' }, /environment\.ref must be the name of a branch, tag or commit/],
    [{ repository, auto_create_pr: 'yes' }, /environment\.auto_create_pr must be true or false/],
    [{ repository, submodules: 1 }, /environment\.submodules must be true or false/],
    [{ repository, commit_author: { name: 'A\n', email: 'a@b' } }, /environment\.commit_author\.name must be a text/],
    [{ repository, commit_author: 'Ada' }, /environment\.commit_author must be an object/],
  ] as const) {
    const { status, text } = await ask('POST /session', { environment })
    assert.equal(status, 400, JSON.stringify(environment))
    assert.match(text, message)
    assert.doesNotMatch(text, /ada:pass/)
  }
})

test('D5: the environment of cursor is checked', async () => {
  for (const [environment, message] of [
    [{ repository: 'not a url' }, /environment\.repository must be the URL of a repository/],
    [{ repository: 5 }, /environment\.repository must/],
    [{ repository, ref: 7 }, /environment\.ref must be the name of a branch/],
    [{ repository, auto_create_pr: 'yes' }, /environment\.auto_create_pr must be true or false/],
  ] as const) {
    const { status, text } = await ask('POST /session', { runtime: 'cur', environment })
    assert.equal(status, 400, JSON.stringify(environment))
    assert.match(text, message)
  }
  const good = { repository: 'ssh://git@example.com/o/r.git', ref: 'main', auto_create_pr: false }
  assert.equal((await ask('POST /session', { runtime: 'cur', environment: good })).status, 200)
})
