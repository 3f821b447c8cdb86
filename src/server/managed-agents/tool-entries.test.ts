import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { ManagedTool } from '../../contract/managed-agents.ts'
import { toolsFor } from '../tools/toolset.ts'
import { shownTools, storedTools } from './tool-entries.ts'

const type = 'agent_toolset_20260401' as const
const allow = { enabled: true, permission_policy: { type: 'always_allow' } }
const every = { type, default_config: allow, configs: [] }
const off = { enabled: false, permission_policy: { type: 'always_allow' } }

const table: readonly (readonly [guarantee: string, stored: unknown, shown: unknown])[] = [
  ['an agent of ours without tools has all of them', {}, [every]],
  ['so has one with an empty list', [], [every]],
  ['a toolset is returned with its defaults', [{ type }], [every]],
  [
    'a tool has its own setting, else that of its toolset',
    [
      {
        type,
        default_config: { permission_policy: { type: 'always_ask' } },
        configs: [{ name: 'bash', enabled: false }],
      },
    ],
    [
      {
        type,
        default_config: { enabled: true, permission_policy: { type: 'always_ask' } },
        configs: [{ name: 'bash', type: 'bash', enabled: false, permission_policy: { type: 'always_ask' } }],
      },
    ],
  ],
  [
    'tools named by type are one toolset without other tools',
    [{ type: 'bash' }, { type: 'read', permission_policy: 'ask' }],
    [
      {
        type,
        default_config: off,
        configs: [
          { name: 'bash', type: 'bash', ...allow },
          { name: 'read', type: 'read', enabled: true, permission_policy: { type: 'always_ask' } },
        ],
      },
    ],
  ],
  [
    'a tool can be disabled by its name',
    { bash: false },
    [{ ...every, configs: [{ name: 'bash', type: 'bash', ...off }] }],
  ],
  [
    'a tool that is always denied is disabled',
    { bash: { permission_policy: 'deny' } },
    [
      {
        ...every,
        configs: [{ name: 'bash', type: 'bash', enabled: false, permission_policy: { type: 'always_ask' } }],
      },
    ],
  ],
  [
    'tools of an MCP server have no type',
    [{ type: 'mcp_toolset', mcp_server_name: 'x', configs: [{ name: 'find' }] }],
    [{ type: 'mcp_toolset', mcp_server_name: 'x', default_config: allow, configs: [{ name: 'find', ...allow }] }],
  ],
  [
    'a custom tool is returned unchanged',
    [{ type: 'custom', name: 'ring', input_schema: { type: 'object' } }],
    [{ type: 'custom', name: 'ring', description: '', input_schema: { type: 'object' } }],
  ],
]
for (const [guarantee, stored, shown] of table) {
  test(guarantee, () => assert.deepEqual(shownTools(stored), shown))
}

test('an agent created without tools has none, at run time and in its object', () => {
  for (const none of [[], null, undefined]) {
    assert.deepEqual(toolsFor(storedTools(none)).tools, [])
    assert.deepEqual(shownTools(storedTools(none)), [])
  }
})

const policy = fc.constantFrom('always_allow', 'always_ask').map(word => ({ type: word }) as const)
const setting = {
  enabled: fc.option(fc.boolean(), { nil: undefined }),
  permission_policy: fc.option(policy, { nil: undefined }),
}
const config = fc.record({ name: fc.constantFrom('bash', 'read', 'write', 'edit', 'glob', 'grep'), ...setting })
const toolset = fc.record({
  type: fc.constant(type),
  default_config: fc.option(fc.record(setting), { nil: undefined }),
  configs: fc.option(fc.uniqueArray(config, { selector: ({ name }) => name }), { nil: undefined }),
})

test('the returned tools enable the same tools and policies as the sent ones, and a round trip is stable', () => {
  const law = (sent: unknown) => {
    const stored = storedTools([sent as ManagedTool])
    const shown = shownTools(stored)
    const runs = (tools: unknown) => toolsFor(tools).tools.map(({ tool, policy: word }) => [tool.name, word])
    assert.deepEqual(runs(storedTools(shown as ManagedTool[])), runs(stored))
    assert.deepEqual(shownTools(shown), shown)
  }
  fc.assert(fc.property(toolset, law))
})
