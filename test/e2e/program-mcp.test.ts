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
import { startEverythingServer } from '../support/mcp/real-servers.ts'
import type { Answer } from '../support/upstream/scripted-answer.ts'
import type { Recorded } from '../support/upstream/scripted-upstream.ts'

const everything = await startEverythingServer()

/** Each program has its own names for the tools. Its side questions, such as for a title, offer none. */
const offered = (body: string, tool: string) => new RegExp(`"name":"(\\w*everything\\w*${tool})"`).exec(body)?.[1]

function script({ rawBody }: Recorded): Answer {
  const body = rawBody.toString()
  const [echo, sum] = [offered(body, 'echo'), offered(body, 'get.sum')]
  if (echo === undefined || !body.includes('ADD-THEM')) return { text: 'ok' }
  if (!body.includes('Echo: hello'))
    return { text: 'First.', tool_calls: [{ name: echo, input: { message: 'hello' } }] }
  const isSummed = sum === undefined || /is 42|requires the approval/.test(body)
  return isSummed ? { text: 'Done.' } : { text: 'Then.', tool_calls: [{ name: sum, input: { a: 40, b: 2 } }] }
}

const { ok, request: ask, settled, logWhen } = await startProgramService(script, [everything])
await ok('POST /v1/mcp/server', { server_name: 'everything', url: everything })
const configs = [
  { name: 'echo', enabled: true },
  { name: 'get-sum', enabled: true, permission_policy: { type: 'always_ask' } },
]
const toolset = { type: 'mcp_toolset', mcp_server_name: 'everything', default_config: { enabled: false }, configs }
const tools = [{ type: 'agent_toolset_20260401' }, toolset]

// The other programs have the same servers, but do not ask for a tool by its name.
for (const alias of ['claude', 'opencode-server'] as const) {
  const program = realPrograms[alias]
  test(`${program.title} (${program.api_spec}) calls a tool of an MCP server, and one more after an approval`, {
    skip: skipPrograms,
  }, async () => {
    checkInstalled(program)
    const agent = await ok<Agent>('POST /api/agents', { name: alias, owner_id: 'team', runtime: alias, tools })
    const { id } = await ok<Session>('POST /session', { agent_id: agent.id, runtime: alias })
    await ask(id, 'ADD-THEM')
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
      uses.map(({ mcp_server_name, name, input }) => [mcp_server_name, name, input]),
      [
        ['everything', 'echo', { message: 'hello' }],
        ['everything', 'get-sum', { a: 40, b: 2 }],
      ],
      shown,
    )
    const results = log.filter(({ type }) => type === 'agent.mcp_tool_result')
    assert.deepEqual(
      results.map(({ mcp_tool_use_id }) => mcp_tool_use_id),
      uses.map(({ tool_use_id }) => tool_use_id),
    )
    assert.match(textIn(results[0] ?? assert.fail(shown)), /Echo: hello/)
    assert.match(textIn(results[1] ?? assert.fail(shown)), /sum of 40 and 2 is 42/)
  })
}
