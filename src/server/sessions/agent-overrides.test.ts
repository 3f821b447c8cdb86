import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withOverrides } from './agent-overrides.ts'

const agent = { system: 'Base.', tools: {}, config: { runtime: 'builtin', max_turns: 3, skills: ['a'] } }

test('an agent runs unchanged when its session has no usable overrides', () => {
  for (const agent_overrides of [undefined, null, 'x', 7, [], {}, { system: 5, config: 'x' }]) {
    assert.deepEqual(withOverrides(agent, { agent_overrides }), agent)
  }
})

test('a session may override the prompt, tools, skills and MCP servers of its agent, but neither limits nor runtime', () => {
  const config = { skills: null, mcp_servers: [1], max_turns: 99, runtime: 'other' }
  const changed = withOverrides(agent, { agent_overrides: { system: '', tools: [1], config } })
  assert.deepEqual(changed, {
    system: '',
    tools: [1],
    config: { runtime: 'builtin', max_turns: 3, skills: null, mcp_servers: [1] },
  })
})
