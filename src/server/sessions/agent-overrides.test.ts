import assert from 'node:assert/strict'
import { test } from 'node:test'
import { overridesProblem, withOverrides } from './agent-overrides.ts'

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

for (const [given, field, problem] of [
  ['x', '', /must be an object/],
  [{ prompt: 'x' }, '.prompt', /is unknown; known fields: system, skills, tools, config/],
  [{ system: 5 }, '.system', /must be a text/],
  [{ system: 'x'.repeat(1_000_001) }, '.system', /at most 1000000 characters/],
  [{ skills: [{ id: 'x' }] }, '.skills', /must be a list of objects with id, name and block/],
  [{ tools: 'bash' }, '.tools', /must be a list or an object/],
  [{ config: [] }, '.config', /must be an object/],
  [
    { config: { agents: ['agent_1'] } },
    '.config.agents',
    /cannot be set for one session; a session may set mcp_servers/,
  ],
  [{ config: { toString: 1 } }, '.config.toString', /cannot be set/],
  [{ config: { mcp_servers: 'wiki' } }, '.config.mcp_servers', /must be a list/],
  [{ config: { skills: [1] } }, '.config.skills', /must be a list of objects/],
  [{ config: { model_config: 'fast' } }, '.config.model_config', /must be an object/],
] as const) {
  test(`overrides with a wrong ${field || 'shape'} are named`, () => {
    const [place, found] = overridesProblem(given) ?? []
    assert.equal(place, `environment.agent_overrides${field}`)
    assert.match(found ?? '', problem)
  })
}

test('absent and cleared overrides are valid', () => {
  const config = { mcp_servers: null, skills: [], model_config: { effort: 'low' } }
  for (const given of [undefined, null, {}, { system: null, tools: null, config: null }, { tools: [], config }])
    assert.equal(overridesProblem(given), undefined)
})
