import assert from 'node:assert/strict'
import { test } from 'node:test'
import { builtinTools, memoryTools, toolsFor } from './toolset.ts'

const all = 'bash:allow bash_output:allow bash_kill:allow read:allow write:allow edit:allow glob:allow grep:allow'
const memory = ' todo_write:allow save_memory:allow search_memory:allow'
const every = `${all}${memory}`
const toolset = 'agent_toolset_20260401'
const ask = { permission_policy: { type: 'always_ask' } }

const table: [guarantee: string, agentTools: unknown, enabled: string, warnings?: number][] = [
  ['an object without entries enables all', {}, every],
  ['an empty list enables all', [], every],
  ['null enables all', null, every],
  ['an absent value enables all', undefined, every],
  ['an unknown object enables all', { anything: 1 }, every],
  ['an unknown text enables all', 'bash', every],
  ['the toolset enables all', [{ type: toolset }], all],
  ['the toolset without a list enables all', { type: toolset }, all],
  ['a later version of the toolset is accepted', [{ type: 'agent_toolset_20270101' }], all],
  ['an entry for one tool enables only that', [{ type: 'read' }], 'read:allow'],
  [
    'several entries add up',
    [{ type: 'grep' }, { type: 'bash', ...ask }],
    'bash:ask bash_output:allow bash_kill:allow grep:allow',
  ],
  [
    'the default config applies to all tools',
    [{ type: toolset, default_config: ask }],
    all.replaceAll('allow', 'ask').replace(/(bash_\w+):ask/g, '$1:allow'),
  ],
  [
    'a config overrides the default',
    [{ type: toolset, default_config: { enabled: false }, configs: [{ name: 'read', enabled: true }] }],
    'read:allow',
  ],
  [
    'a config without a policy inherits that of the default',
    [{ type: toolset, default_config: { enabled: false, ...ask }, configs: [{ name: 'bash', enabled: true }] }],
    'bash:ask bash_output:allow bash_kill:allow',
  ],
  [
    'a tool that reaches the network is enabled only by its name',
    [{ type: toolset, default_config: { enabled: true }, configs: [{ name: 'web_fetch', ...ask }] }],
    `${all} web_fetch:ask`,
  ],
  ['an object enables such a tool by its name', { web_search: true }, `${all} web_search:allow${memory}`],
  ['a denied bash has no background jobs', [{ type: 'bash', permission_policy: 'deny' }], 'bash:deny'],
  ['bash_output cannot be enabled alone', [{ type: 'bash_output' }], '', 1],
  [
    'a tool can be disabled',
    [{ type: toolset, configs: [{ name: 'bash', enabled: false }] }],
    all.replace(/bash\w*:allow /g, ''),
  ],
  ['a later entry wins', [{ type: toolset }, { type: 'bash', enabled: false }], all.replace(/bash\w*:allow /g, '')],
  ['auto means allow', [{ type: 'read', permission_policy: { type: 'auto' } }], 'read:allow'],
  ['always_allow means allow', [{ type: 'read', permission_policy: { type: 'always_allow' } }], 'read:allow'],
  ['deny stays visible as deny', [{ type: 'read', permission_policy: { type: 'deny' } }], 'read:deny'],
  ['a policy may be a plain word', [{ type: 'read', permission_policy: 'ask' }], 'read:ask'],
  ['an unknown policy means ask', [{ type: 'read', permission_policy: { type: 'sometimes' } }], 'read:ask', 1],
  ['a property of Object is not a policy', [{ type: 'read', permission_policy: 'constructor' }], 'read:ask', 1],
  ['a misspelt tool never enables more', [{ type: 'reed' }], '', 1],
  ['an entry without a type is skipped', [{ name: 'read' }, 'read', null, 7], '', 4],
  ['external tools are skipped, and replace the built-in ones', [{ type: 'mcp_toolset' }, { type: 'custom' }], ''],
  ['a config for an unknown tool adds a warning', [{ type: toolset, configs: [{ name: 'web_browse' }] }], all, 1],
  ['configs that are not a list are ignored', [{ type: toolset, configs: 'bash', default_config: 7 }], all],
  [
    'names with false disable tools',
    { bash: false, write: false, save_memory: false },
    'read:allow edit:allow glob:allow grep:allow todo_write:allow search_memory:allow',
  ],
  ['names with a config set it', { bash: ask }, every.replace('bash:allow', 'bash:ask')],
  [
    'the toolset excludes memory tools unless it names them',
    { type: toolset, configs: [{ name: 'save_memory' }] },
    `${all} save_memory:allow`,
  ],
  ['an entry may be a memory tool', [{ type: 'search_memory', ...ask }], 'search_memory:ask'],
]

for (const [guarantee, agentTools, enabled, warnings = 0] of table) {
  test(guarantee, () => {
    const found = toolsFor(agentTools)
    assert.equal(found.tools.map(({ tool, policy }) => `${tool.name}:${policy}`).join(' '), enabled)
    assert.equal(found.warnings.length, warnings)
  })
}

test('the schema of each tool is a plain JSON object', () => {
  for (const { name, inputSchema, description } of [...builtinTools, ...memoryTools]) {
    assert.deepEqual(JSON.parse(JSON.stringify(inputSchema)), inputSchema)
    assert.equal(inputSchema['type'], 'object')
    assert(description.length > 20, name)
  }
  assert.deepEqual(
    builtinTools.filter(tool => tool.idempotent).map(tool => tool.name),
    ['read', 'glob', 'grep', 'web_fetch', 'web_search', 'todo_write'],
  )
})
