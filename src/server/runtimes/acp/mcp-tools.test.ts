import assert from 'node:assert/strict'
import { test } from 'node:test'
import { acpRig, doing, fakeNamed } from '../../../../test/support/acp/acp-rig.ts'
import { promptOf, runRig, sessionWith } from '../../../../test/support/sessions/run-rig.ts'
import type { Decision } from '../runtime.ts'

const mcpServers = [{ name: 'wiki', url: undefined, tools: { look: 'allow', edit: 'ask' } }] as const

const callOf = (tool: string) => ({
  'claude-agent-acp': { kind: 'other', _meta: { claudeCode: { toolName: `mcp__wiki__${tool}` } } },
  'codex-acp': { kind: 'execute', rawInput: { server: 'wiki', tool, arguments: {} } },
})

/** Runs a turn in which the program calls a tool, asks about it and gets its result. */
async function logOf(
  name: 'claude-agent-acp' | 'codex-acp',
  tool: string,
  decide: () => Promise<Decision | undefined>,
) {
  const { runtime } = await acpRig({ command: await fakeNamed(name), mcpServers })
  const rig = runRig(sessionWith())
  const update = { sessionUpdate: 'tool_call', toolCallId: 'c1', status: 'pending', ...callOf(tool)[name] }
  const end = { sessionUpdate: 'tool_call_update', toolCallId: 'c1', status: 'completed', rawOutput: 'seen' }
  await rig.run(runtime, promptOf(doing({ update }, { ask: { toolCallId: 'c1' } }, { update: end })), { decide })
  return rig.log
}

test('calls of MCP tools are events of their own; one that needs approval asks', async () => {
  const asked: string[] = []
  const decide = async (): Promise<Decision> => {
    asked.push('somebody')
    return { result: 'allow', message: undefined }
  }
  for (const [name, tool, permission, count] of [
    ['claude-agent-acp', 'look', 'allow', 0],
    ['codex-acp', 'look', 'allow', 0],
    ['claude-agent-acp', 'edit', 'ask', 1],
  ] as const) {
    const log = await logOf(name, tool, decide)
    const use = log.find(({ type }) => type === 'agent.mcp_tool_use')
    assert.deepEqual([use?.mcp_server_name, use?.name, use?.evaluated_permission], ['wiki', tool, permission], name)
    assert.deepEqual(use?.input, {})
    const result = log.find(({ type }) => type === 'agent.mcp_tool_result')
    assert.deepEqual([result?.mcp_tool_use_id, result?.content], ['c1', [{ type: 'text', text: 'seen' }]])
    assert.equal(asked.length, count)
    assert.ok(log.every(({ type }) => type !== 'agent.tool_use' && type !== 'agent.tool_result'))
  }
})

test('a program that does not ask for tools by name gets no tools that need approval', async () => {
  const { runtime } = await acpRig({ fake: { http: true }, mcpServers })
  const rig = runRig(sessionWith())
  await rig.run(runtime, promptOf(doing({ tell: 'servers' })))
  const [warning] = rig.log.flatMap(event => (event.warning ? [event.warning] : []))
  assert.deepEqual(warning?.type, 'mcp_tools_left_out')
  assert.match(warning?.message ?? '', /: wiki: edit$/)
  assert.match(JSON.stringify(rig.log), /\/mcp\/wiki/)
})
