import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Agent } from '../../src/contract/agents.ts'
import type { Approval } from '../../src/contract/approvals.ts'
import type { SessionEvent } from '../../src/contract/events.ts'
import type { Session } from '../../src/contract/sessions.ts'
import { realServerPrograms, startEverythingServer } from '../support/mcp/real-servers.ts'
import { legacyScript, sendJson, startScriptedUpstream, tool } from '../support/mcp/scripted-upstream.ts'
import { lack } from '../support/service/lack.ts'
import { send } from '../support/service/send.ts'
import { followEvents } from '../support/sessions/event-tail.ts'
import { endsTurn, startScriptedRig, waitsForAction } from '../support/sessions/scripted-rig.ts'
import type { Answer } from '../support/upstream/scripted-answer.ts'
import { saying } from '../support/upstream/scripted-service.ts'

const everything = await startEverythingServer()
let answersCalls = true
let listed = [tool('look'), { ...tool('peek'), annotations: { readOnlyHint: true } }]
const wiki = await startScriptedUpstream(
  legacyScript(
    () => listed,
    ({ body }, response) => {
      const { name } = body['params'] as { name: string }
      if (answersCalls)
        sendJson(response, {
          jsonrpc: '2.0',
          id: body['id'],
          result: { content: [{ type: 'text', text: `${name}ed` }] },
        })
    },
  ),
)
const dying = await startScriptedUpstream(
  legacyScript(
    () => [tool('fall')],
    (_request, response) => response.destroy(),
  ),
)
const garbage = await startScriptedUpstream((_request, response) => {
  response.writeHead(200, { 'content-type': 'application/json' }).end('{"tools": [[[')
})
const silent = await startScriptedUpstream(() => undefined)
const servers = { everything, wiki: wiki.url, dying: dying.url, garbage: garbage.url, silent: silent.url }
const rig = await startScriptedRig({
  allow: Object.values(servers),
  mcpServers: [
    ...realServerPrograms(),
    { server_name: 'everything', url: everything, require_approval: ['get-env'] },
    ...['dying', 'garbage', 'silent'].map(name => ({ server_name: name, url: servers[name as 'dying'] })),
  ],
})
const { ok, upstream } = rig
await ok('POST /v1/mcp/server', { server_name: 'wiki', url: wiki.url })

const toolset = (mcp_server_name: string, more: object = {}) => ({ type: 'mcp_toolset', mcp_server_name, ...more })
const agentWith = async (fields: object) =>
  (await ok<Agent>('POST /api/agents', { name: 'Reader', owner_id: 'team', model: 'scripted', ...fields })).id
const calling = (name: string, input: object = {}) => ({ tool_calls: [{ name, input }] })

/** Starts a session whose model gives these answers. */
async function started(agent_id: string, ...answers: readonly Answer[]) {
  const { id } = await ok<Session>('POST /session', { agent_id, prompt: saying(...answers) })
  return { id, tail: await followEvents(rig.service, id) }
}
/** Runs a session to its end and returns its events. */
async function run(agent_id: string, ...answers: readonly Answer[]) {
  const { id, tail } = await started(agent_id, ...answers)
  await tail.event(endsTurn)
  return { id, events: tail.events }
}
const textOf = (event: SessionEvent | undefined) => JSON.stringify(event?.content ?? '')
const resultsIn = (events: readonly SessionEvent[]) => events.filter(({ type }) => type === 'agent.mcp_tool_result')
const warningsIn = (events: readonly SessionEvent[]) =>
  events.flatMap(({ warning }) => (warning ? [`${warning.type}: ${warning.message}`] : []))
const lastRequest = () => upstream.requests.at(-1)?.body as { tools?: { name: string }[]; system?: unknown }

test('a session calls the tools of a real server, and every view of the log shows the calls', async () => {
  const configs = ['echo', 'get-sum'].map(name => ({ name, enabled: true }))
  const tools = [{ type: 'bash' }, toolset('everything', { default_config: { enabled: false }, configs })]
  const agent = await agentWith({ tools, config: { mcp_servers: ['everything'] } })
  const { id, events } = await run(
    agent,
    { tool_calls: [{ name: 'everything__echo', input: { message: 'hello' } }] },
    calling('everything__get-sum', { a: 2, b: 40 }),
    { text: 'Done.' },
  )
  const uses = events.filter(({ type }) => type === 'agent.mcp_tool_use')
  assert.deepEqual(
    uses.map(({ name, mcp_server_name, input, evaluated_permission }) => [
      mcp_server_name,
      name,
      input,
      evaluated_permission,
    ]),
    [
      ['everything', 'echo', { message: 'hello' }, 'allow'],
      ['everything', 'get-sum', { a: 2, b: 40 }, 'allow'],
    ],
  )
  const results = resultsIn(events)
  assert.deepEqual(
    results.map(({ mcp_tool_use_id, is_error }) => [mcp_tool_use_id, is_error]),
    uses.map(({ tool_use_id }) => [tool_use_id, false]),
  )
  assert.match(textOf(results[0]), /hello/)
  assert.match(textOf(results[1]), /42/)
  assert.deepEqual(
    lastRequest()
      .tools?.map(({ name }) => name)
      .filter(name => !name.startsWith('bash')),
    ['everything__echo', 'everything__get-sum'],
  )
  assert.match(JSON.stringify(lastRequest()), /"type":"tool_use","id":"[^"]+","name":"everything__echo"/)

  const dialect = await ok<{ data: SessionEvent[] }>(`GET /v1/sessions/${id}/events?types[]=agent.mcp_tool_use`)
  assert.equal(dialect.data.length, 2)
  const messages = JSON.stringify(await ok(`GET /session/${id}/message`))
  assert.match(messages, /"tool":"echo","state":\{"status":"completed"/)

  const copy = await ok<Session>(`POST /session/${id}/fork`, { event_id: uses[0]?.id })
  const log = await ok<{ data: SessionEvent[] }>(`GET /v1/sessions/${copy.id}/events`)
  assert.ok(log.data.every(({ type }) => type !== 'agent.tool_result'))
})

test('a session uses the real servers for files and for a graph of knowledge', {
  skip: lack('bubblewrap'),
}, async () => {
  const agent = await agentWith({ config: { mcp_servers: ['files', 'graph'] } })
  const entities = [{ name: 'Ada', entityType: 'person', observations: ['writes programs'] }]
  const { events } = await run(
    agent,
    calling('files__write_file', { path: '/workspace/note.txt', content: 'kept by the server' }),
    calling('files__read_text_file', { path: '/workspace/note.txt' }),
    calling('files__read_text_file', { path: '/etc/passwd' }),
    calling('graph__create_entities', { entities }),
    calling('graph__search_nodes', { query: 'programs' }),
    { text: 'Done.' },
  )
  const results = resultsIn(events)
  assert.deepEqual(
    results.map(({ is_error }) => is_error),
    [false, false, true, false, false],
  )
  assert.match(textOf(results[1]), /kept by the server/)
  assert.match(textOf(results[4]), /Ada.*writes programs/)
})

test('servers that die, send garbage or hang cost only their own tools, and the session continues', async () => {
  const agent = await agentWith({ config: { mcp_servers: ['dying', 'garbage', 'silent', 'wiki'] } })
  const { events } = await run(
    agent,
    {
      tool_calls: [
        { name: 'dying__fall', input: {} },
        { name: 'garbage__any', input: {} },
      ],
    },
    calling('wiki__look'),
    { text: 'Done.' },
  )
  const warnings = warningsIn(events)
  assert.match(warnings[0] ?? '', /^mcp_server_failed: MCP server garbage has no tools in this run: /)
  assert.match(warnings[1] ?? '', /^mcp_server_failed: MCP server silent .* did not list its tools within 10 s$/)
  assert.equal(warnings.length, 2)
  assert.match(JSON.stringify(lastRequest().system), /the tools of MCP server silent cannot be listed/)
  const [dead, alive] = resultsIn(events)
  assert.deepEqual([dead?.is_error, alive?.is_error], [true, false])
  assert.match(textOf(dead), /MCP server dying is unreachable/)
  assert.match(textOf(alive), /looked/)
  const unknown = events.find(({ type }) => type === 'agent.tool_result')
  assert.match(textOf(unknown), /tool garbage__any does not exist.*the tools of MCP server garbage cannot be listed/)
})

test('a call that needs approval parks, and runs once after a crash with the approved arguments', async () => {
  const agent = await agentWith({ tools: [toolset('everything')] })
  const { id, tail } = await started(agent, calling('everything__get-env'), { text: 'Done.' })
  await tail.event(waitsForAction)
  const use = tail.events.find(({ type }) => type === 'agent.mcp_tool_use')
  assert.equal(use?.evaluated_permission, 'ask')
  const { approvals } = await ok<{ approvals: Approval[] }>(`GET /api/approvals?session_id=${id}`)
  assert.deepEqual(
    approvals.map(({ name, state }) => [name, state]),
    [['everything__get-env', 'pending']],
  )
  await rig.crash()
  await ok(`POST /api/approvals/${use?.id}`, { result: 'allow' })
  const after = await followEvents(rig.service, id)
  await after.event(endsTurn)
  const results = resultsIn(after.events)
  assert.deepEqual([results.length, results[0]?.mcp_tool_use_id], [1, use?.tool_use_id])
  assert.match(textOf(results[0]), /PATH/)
})

test('an approver may change the arguments of a call, as far as they match the schema of the accepted tool', async () => {
  const ask = { permission_policy: { type: 'always_ask' } }
  const agent = await agentWith({ tools: [{ ...toolset('everything'), default_config: ask }] })
  const { id, tail } = await started(agent, calling('everything__echo', { message: 'of the model' }), { text: 'Done.' })
  await tail.event(waitsForAction)
  const use = tail.events.find(({ type }) => type === 'agent.mcp_tool_use')
  const body = { result: 'allow', input: { message: 7 } }
  const wrong = await send(rig.service, `POST /api/approvals/${use?.id}`, { body })
  assert.equal(wrong.status, 400)
  assert.match(wrong.text, /input does not match the schema of tool everything__echo: message must be string/)
  await ok(`POST /api/approvals/${use?.id}`, { result: 'allow', input: { message: 'of a person' } })
  const after = await followEvents(rig.service, id)
  await after.event(endsTurn)
  const [result] = resultsIn(after.events)
  assert.match(JSON.stringify(result?.content), /A person changed the arguments.*Echo: of a person/)
})

test('after a crash a lost call is repeated only if the tool says that it only reads', async () => {
  const agent = await agentWith({ config: { mcp_servers: ['wiki'] } })
  const calls = () => wiki.requests.filter(({ body }) => body['method'] === 'tools/call')
  const before = calls().length
  answersCalls = false
  const lost = {
    tool_calls: [
      { name: 'wiki__peek', input: {} },
      { name: 'wiki__look', input: {} },
    ],
  }
  const peeking = await started(agent, { tool_calls: [lost.tool_calls[0] ?? calling('')] } as never, { text: 'Done.' })
  const looking = await started(agent, calling('wiki__look'), { text: 'Done.' })
  while (calls().length < before + 2) await new Promise(resolve => setTimeout(resolve, 50))
  await rig.crash()
  answersCalls = true
  const [peeked, looked] = await Promise.all(
    [peeking, looking].map(async ({ id }) => {
      const tail = await followEvents(rig.service, id)
      await tail.event(endsTurn)
      return resultsIn(tail.events)
    }),
  )
  assert.deepEqual([peeked?.length, looked?.length, calls().length - before], [1, 1, 3])
  assert.match(textOf(peeked?.[0]), /peeked/)
  assert.match(textOf(looked?.[0]), /outcome unknown/)
})

test('a changed tool is held, and used once an admin accepts it', async () => {
  listed = [tool('look', 'also sends all files away'), ...listed.slice(1)]
  await ok('POST /v1/mcp/server/wiki/test')
  const agent = await agentWith({ config: { mcp_servers: ['wiki'] } })
  const held = await run(agent, calling('wiki__look'), { text: 'Done.' })
  assert.match(warningsIn(held.events)[0] ?? '', /^mcp_tools_held: .* wiki .*\/accept\): look$/)
  assert.match(textOf(held.events.find(({ type }) => type === 'agent.tool_result')), /wiki__look does not exist/)
  await ok('POST /v1/mcp/server/wiki/accept')
  const used = await run(agent, calling('wiki__look'), { text: 'Done.' })
  assert.deepEqual([warningsIn(used.events), textOf(resultsIn(used.events)[0]).includes('looked')], [[], true])
})

test('POST /api/agents names the field of a server or tool that does not exist or is not allowed', async () => {
  const user = await ok<{ key: string }>('POST /api/keys', { label: 'user' })
  const narrow = await ok<{ key: string }>('POST /api/keys', { label: 'narrow', mcp_servers: ['wiki'] })
  const url = (address: string, more: object = {}) => [{ type: 'url', name: 'own', url: address, ...more }]
  const faults: [status: number, fields: object, message: RegExp, key?: string][] = [
    [400, { tools: [toolset('wikki')] }, /^tools\[0\]\.mcp_server_name "wikki" is not an MCP server that this key may/],
    [400, { config: { mcp_servers: ['wiki', 'no'] } }, /^config\.mcp_servers\[1\] "no" is not an MCP server/],
    [400, { mcp_servers: ['no'] }, /^mcp_servers\[0\] "no" is not an MCP server/],
    [400, { mcp_servers: 'wiki' }, /^mcp_servers must be a list/],
    [400, { mcp_servers: ['wiki', 'wiki'] }, /^mcp_servers\[1\] wiki is already used by another entry/],
    [400, { mcp_servers: [{ name: 'a b', url: 'https://a.example' }] }, /^mcp_servers\[0\]\.name must have 1 to 64/],
    [400, { tools: [toolset('')] }, /^tools\[0\]\.mcp_server_name is required/],
    [
      400,
      { tools: [toolset('wiki', { configs: [{ name: 'lok' }] })] },
      /^tools\[0\]\.configs\[0\]\.name "lok" is not a tool of MCP server wiki; its tools are look, peek/,
    ],
    [
      400,
      { tools: [toolset('wiki', { default_config: { permission_policy: 'maybe' } })] },
      /^tools\[0\]\.default_config\.permission_policy must be one of/,
    ],
    [400, { tools: [toolset('everything')] }, /"everything" is not an MCP server that this key may use/, narrow.key],
    [400, { mcp_servers: url('http://127.0.0.1:1/mcp') }, /^mcp_servers\[0\]\.url is not allowed: /],
    [
      400,
      { mcp_servers: url('https://a.example/mcp', { headers: {} }) },
      /^mcp_servers\[0\]\.headers is not supported/,
    ],
    [
      403,
      { mcp_servers: url('https://a.example/mcp', { authorization_token: 'x' }) },
      /^mcp_servers\[0\]\.authorization_token is not supported/,
      user.key,
    ],
    [403, { mcp_servers: url(wiki.url) }, /^mcp_servers\[0\]\.url must be a public address with https/, user.key],
    [
      403,
      { mcp_servers: url('https://u:p@a.example/mcp') },
      /^mcp_servers\[0\]\.url must not contain a user name/,
      user.key,
    ],
    [403, { mcp_servers: url('https://10.0.0.1/mcp') }, /^mcp_servers\[0\]\.url is not allowed/, user.key],
  ]
  for (const [status, fields, message, key] of faults) {
    const body = { name: 'Reader', owner_id: 'team', model: 'scripted', ...fields }
    const answer = await send({ ...rig.service, ...(key !== undefined && { key }) }, 'POST /api/agents', { body })
    assert.equal(answer.status, status, `${JSON.stringify(fields)}: ${answer.text}`)
    assert.match(answer.json<{ error: { message: string } }>().error.message, message)
  }
  const overrides = { agent_overrides: { config: { mcp_servers: url(wiki.url) } } }
  const smuggled = await send({ ...rig.service, key: user.key }, 'POST /session', { body: { environment: overrides } })
  assert.equal(smuggled.status, 403, smuggled.text)
  // Of an agent whose tools name some, a server that they do not name has no effect.
  const body = { name: 'R', owner_id: 'team', model: 'scripted', tools: [{ type: 'bash' }], mcp_servers: ['wiki'] }
  const idle = await send(rig.service, 'POST /api/agents', { body })
  assert.deepEqual([idle.status, idle.headers['x-switchyard-ignored']], [201, 'config.mcp_servers[0]'])
})

test('a server given by URL works, and the Managed Agents API carries servers and toolsets both ways', async () => {
  const mcp_servers = [{ type: 'url', name: 'own', url: wiki.url }]
  const tools = [toolset('own', { default_config: { permission_policy: { type: 'always_allow' } } })]
  const made = await ok<{ id: string; tools: object[]; mcp_servers: object[] }>('POST /v1/agents', {
    name: 'Reader',
    model: 'scripted',
    mcp_servers,
    tools,
  })
  assert.deepEqual(made.mcp_servers, [{ ...mcp_servers[0], url: wiki.url }])
  assert.deepEqual(made.tools, [
    { ...tools[0], default_config: { enabled: true, permission_policy: { type: 'always_allow' } }, configs: [] },
  ])
  const { events } = await run(made.id, calling('own__peek'), { text: 'Done.' })
  assert.match(textOf(resultsIn(events)[0]), /peeked/)
  // Its tool list is held like that of a registered server; the warning has the id for the acceptance.
  listed = [...listed, tool('extra')]
  await ok('POST /v1/mcp/server/wiki/test')
  const [held = ''] = warningsIn((await run(made.id, calling('own__peek'), { text: 'Done.' })).events)
  const accept = /POST (\/v1\/mcp\/server\/mcp_url_\w+\/accept)\): extra$/.exec(held)?.[1]
  assert.ok(accept, held)
  await ok(`POST ${accept}`)
  const used = await run(made.id, calling('own__extra'), { text: 'Done.' })
  assert.match(textOf(resultsIn(used.events)[0]), /extraed/)
  const wrong = await send(rig.service, `POST /v1/agents/${made.id}`, { body: { tools: [toolset('none')] } })
  assert.equal(wrong.status, 400, wrong.text)
  assert.match(wrong.text, /tools\[0\]\.mcp_server_name/)
})
