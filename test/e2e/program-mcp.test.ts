import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Agent } from '../../src/contract/agents.ts'
import type { Approval } from '../../src/contract/approvals.ts'
import type { Session } from '../../src/contract/sessions.ts'
import {
  checkInstalled,
  realPrograms,
  reasonOf,
  skipPrograms,
  startProgramService,
  textIn,
} from '../support/acp/acp-programs.ts'
import { realServerPrograms, startEverythingServer } from '../support/mcp/real-servers.ts'
import type { Answer } from '../support/upstream/scripted-answer.ts'
import type { Recorded } from '../support/upstream/scripted-upstream.ts'

const everything = await startEverythingServer()

/** The calls of a turn, in their order. */
const steps = [
  { server: 'everything', tool: 'echo', input: { message: 'hello' }, result: /Echo: hello/ },
  { server: 'everything', tool: 'get-sum', input: { a: 40, b: 2 }, result: /sum of 40 and 2 is 42/ },
  {
    server: 'files',
    tool: 'write_file',
    input: { path: '/workspace/note.txt', content: 'written by a program' },
    result: /Successfully wrote/,
  },
  { server: 'files', tool: 'list_directory', input: { path: '/workspace' }, result: /\[FILE\] note\.txt/ },
  {
    server: 'graph',
    tool: 'create_entities',
    input: { entities: [{ name: 'Ada', entityType: 'person', observations: ['writes programs'] }] },
    result: /person|\[\]/,
  },
  { server: 'graph', tool: 'search_nodes', input: { query: 'Ada' }, result: /writes programs/ },
] as const

/** Each program has its own names for the tools. Its side questions, such as for a title, offer none. */
const offered = (body: string, { server, tool }: (typeof steps)[number]) =>
  new RegExp(`"name":"(\\w*${server}\\w*${tool.replaceAll(/[-_]/g, '.')})"`).exec(body)?.[1]

function script({ rawBody }: Recorded): Answer {
  const body = rawBody.toString()
  const step = steps[body.split('"type":"tool_result"').length - 1]
  const name = step && offered(body, step)
  if (name === undefined || !body.includes('USE-THEM')) return { text: 'ok' }
  return { text: `${name}.`, tool_calls: [{ name, input: step?.input }] }
}

const {
  ok,
  request: ask,
  settled,
  logWhen,
} = await startProgramService(script, {
  allow: [everything],
  mcpServers: realServerPrograms(),
})
await ok('POST /v1/mcp/server', { server_name: 'everything', url: everything })
const configs = [
  { name: 'echo', enabled: true },
  { name: 'get-sum', enabled: true, permission_policy: { type: 'always_ask' } },
]
const toolset = (mcp_server_name: string, more: object = {}) => ({ type: 'mcp_toolset', mcp_server_name, ...more })
const tools = [
  { type: 'agent_toolset_20260401' },
  toolset('everything', { default_config: { enabled: false }, configs }),
  toolset('files'),
  toolset('graph'),
]

// The other programs have the same servers, but do not ask for a tool by its name.
for (const alias of ['claude', 'opencode-server'] as const) {
  const program = realPrograms[alias]
  test(`${program.title} (${program.api_spec}) calls tools of three real MCP servers, one of them after an approval`, {
    skip: skipPrograms,
  }, async () => {
    checkInstalled(program)
    const agent = await ok<Agent>('POST /api/agents', { name: alias, owner_id: 'team', runtime: alias, tools })
    const { id } = await ok<Session>('POST /session', { agent_id: agent.id, runtime: alias })
    await ask(id, 'USE-THEM')
    const pending = async () => (await ok<{ approvals: Approval[] }>(`GET /api/approvals?session_id=${id}`)).approvals
    await logWhen(id, async () => (await pending()).length > 0, 'the approval')
    const [approval] = await pending()
    assert.equal(approval?.name, 'everything__get-sum')
    await ok(`POST /api/approvals/${approval?.id}`, { result: 'allow' })
    const log = await settled(id)
    const shown = JSON.stringify(log, null, 1)
    assert.equal(reasonOf(log.at(-1)), 'end_turn', shown)
    const uses = log.filter(({ type }) => type === 'agent.mcp_tool_use')
    assert.deepEqual(
      uses.map(({ mcp_server_name, name, input }) => ({ server: mcp_server_name, tool: name, input })),
      steps.map(({ server, tool, input }) => ({ server, tool, input })),
      shown,
    )
    const results = log.filter(({ type }) => type === 'agent.mcp_tool_result')
    assert.deepEqual(
      results.map(({ mcp_tool_use_id }) => mcp_tool_use_id),
      uses.map(({ tool_use_id }) => tool_use_id),
    )
    for (const [at, { result }] of steps.entries()) assert.match(textIn(results[at] ?? assert.fail(shown)), result)
  })
}
