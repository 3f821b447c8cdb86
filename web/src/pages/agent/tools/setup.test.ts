import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Policy, readSetup, storedOf, type ToolChoice, type ToolSetup } from './setup.ts'

const known: readonly ToolChoice[] = [
  ...['bash', 'bash_output', 'read', 'write', 'edit', 'glob', 'grep'].map(id => ({ id, enabled_by_default: true })),
  { id: 'web_fetch', enabled_by_default: false },
  { id: 'todo_write', enabled_by_default: true },
]
const names = ['bash', 'read', 'write', 'edit', 'glob', 'grep', 'web_fetch', 'todo_write']
const all = (policy: Policy, others: Readonly<Record<string, Policy>> = {}) => ({
  ...Object.fromEntries(names.map(name => [name, policy])),
  ...others,
})

test('without entries an agent has all tools but those that reach the network', () => {
  for (const tools of [{}, [], undefined])
    assert.deepEqual(readSetup({ tools, servers: ['docs'] }, known), {
      builtin: all('allow', { web_fetch: 'deny' }),
      servers: [{ name: 'docs', url: undefined, policy: 'allow', tools: {} }],
      custom: [],
      others: [],
    })
})

test('a list enables only what it names, with the policy of each entry', () => {
  const custom = { type: 'custom', name: 'deploy', input_schema: { type: 'object' } }
  const strange = { type: 'unknown_thing' }
  const { builtin, servers, ...rest } = readSetup(
    {
      tools: [
        {
          type: 'agent_toolset_20260401',
          default_config: { permission_policy: { type: 'always_ask' } },
          configs: [
            { name: 'read', permission_policy: { type: 'always_allow' } },
            { name: 'write', enabled: false },
            { name: 'edit', permission_policy: 'deny' },
          ],
        },
        { type: 'web_fetch', permission_policy: { type: 'odd' } },
        { type: 'mcp_toolset', mcp_server_name: 'docs', configs: [{ name: 'drop', enabled: false }] },
        custom,
        strange,
      ],
      servers: ['other', { type: 'url', name: 'docs', url: 'https://docs.example.com' }],
    },
    known,
  )
  assert.deepEqual(
    builtin,
    all('ask', { read: 'allow', write: 'deny', edit: 'deny', todo_write: 'deny', web_fetch: 'ask' }),
  )
  assert.deepEqual(servers, [
    { name: 'other', url: undefined, policy: 'deny', tools: {} },
    { name: 'docs', url: 'https://docs.example.com', policy: 'allow', tools: { drop: 'deny' } },
  ])
  assert.deepEqual(rest, { custom: [custom], others: [strange] })
})

test('an object with names of tools changes only those', () => {
  const { builtin } = readSetup({ tools: { bash: false, web_fetch: {} }, servers: undefined }, known)
  assert.deepEqual(builtin, all('allow', { bash: 'deny' }))
})

const setups: readonly ToolSetup[] = [
  { builtin: all('allow', { web_fetch: 'deny' }), servers: [], custom: [], others: [] },
  { builtin: all('allow'), servers: [], custom: [], others: [] },
  { builtin: all('deny'), servers: [], custom: [], others: [] },
  { builtin: all('deny', { todo_write: 'ask' }), servers: [], custom: [], others: [] },
  {
    builtin: all('ask', { read: 'allow', grep: 'deny' }),
    servers: [
      { name: 'a', url: undefined, policy: 'deny', tools: { one: 'ask', two: 'allow' } },
      { name: 'b', url: 'https://b.example.com/mcp', policy: 'ask', tools: { three: 'deny' } },
    ],
    custom: [{ type: 'custom', name: 'c', input_schema: { type: 'object' } }],
    others: [{ type: 'x' }],
  },
]

test('what is written is read again as it was', () => {
  for (const setup of setups) assert.deepEqual(readSetup(storedOf(setup, known), known), setup)
})

test('the default needs no entries, and no tools at all are no empty list', () => {
  const [first, , none] = setups
  assert.ok(first && none)
  assert.deepEqual(storedOf(first, known), { tools: {}, servers: undefined })
  assert.deepEqual(storedOf(none, known).tools, [
    { type: 'agent_toolset_20260401', default_config: { enabled: false } },
  ])
})
