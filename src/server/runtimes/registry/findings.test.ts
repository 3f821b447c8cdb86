import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Json } from '../../platform/json.ts'
import { findingsFor } from './findings.ts'

const noSearch = { canSearch: false, canClone: true, sandboxProblem: () => undefined }

test('a runtime that calls models itself reports the model settings that it does not support', () => {
  const config = { model_settings: { effort: 'low', temperature: 1, top_p: null }, context: { kept_tokens: 1 } }
  assert.deepEqual(findingsFor('builtin', { tools: [], config }, noSearch), [])
  for (const spec of ['acp', 'opencode', 'cursor', 'claude_managed_agents', 'a2a'] as const)
    assert.deepEqual(findingsFor(spec, { tools: [], config }, noSearch), [
      { field: 'config.model_settings.effort' },
      { field: 'config.model_settings.temperature' },
      { field: 'config.context.kept_tokens' },
    ])
})

const named: [form: string, tools: unknown, field: string][] = [
  ['an entry', [{ type: 'read' }, { type: 'web_search' }], 'tools[1]'],
  ['a config', [{ type: 'agent_toolset_20260401', configs: [{ name: 'web_search' }] }], 'tools[0].configs[0]'],
  ['a name', { web_search: true }, 'tools.web_search'],
  ['a name with a config', { web_search: { permission_policy: 'ask' } }, 'tools.web_search'],
]

for (const [form, tools, field] of named) {
  test(`web_search as ${form} is rejected unless a search provider is configured`, () => {
    const [finding, ...more] = findingsFor('builtin', { tools, config: {} }, noSearch)
    assert.equal(finding?.field, field)
    assert.match(finding?.problem ?? '', /^names web_search, but this server has no search provider; set web_search/)
    assert.deepEqual(more, [])
    assert.deepEqual(findingsFor('builtin', { tools, config: {} }, { ...noSearch, canSearch: true }), [])
  })

  test(`web_search as ${form} is reported as ignored by a runtime with its own tools`, () => {
    for (const canSearch of [true, false])
      assert.deepEqual(findingsFor('opencode', { tools, config: {} }, { ...noSearch, canSearch }), [{ field }])
  })
}

test('an entry that disables web_search needs no search provider', () => {
  for (const tools of [
    { web_search: false },
    [{ type: 'web_search', enabled: false }],
    [{ type: 'agent_toolset_20260401', configs: [{ name: 'web_search', enabled: false }] }],
  ])
    assert.deepEqual(findingsFor('builtin', { tools, config: {} }, noSearch), [])
})

test('web_fetch and todo_write are tools of the built-in runtime only', () => {
  const tools = [{ type: 'web_fetch' }, { type: 'todo_write' }]
  assert.deepEqual(findingsFor('builtin', { tools, config: {} }, noSearch), [])
  assert.deepEqual(findingsFor('acp', { tools, config: {} }, noSearch), [{ field: 'tools[0]' }, { field: 'tools[1]' }])
})

test('without a sandbox that can clone, a repository is named as ignored where the service would clone it', () => {
  const environment = { repository: 'https://github.com/o/r', ref: 'main' }
  const requested = { tools: [], config: {}, environment }
  for (const spec of ['builtin', 'acp', 'opencode'] as const) {
    const ignored = findingsFor(spec, requested, { ...noSearch, canClone: false })
    assert.deepEqual(ignored, [{ field: 'environment.repository' }, { field: 'environment.ref' }], spec)
    assert.deepEqual(findingsFor(spec, requested, noSearch), [])
    const wrong = { ...requested, environment: { repository: 'no address' } }
    assert.match(findingsFor(spec, wrong, { ...noSearch, canClone: false })[0]?.problem ?? '', /must be/, spec)
  }
  assert.deepEqual(findingsFor('cursor', requested, { ...noSearch, canClone: false }), [])
  const elsewhere = findingsFor('opencode', requested, { ...noSearch, isRemote: true })
  assert.deepEqual(elsewhere, [{ field: 'environment.repository' }, { field: 'environment.ref' }])
})

test('a remote agent of A2A has its own tools, servers, approvals and environment', () => {
  const requested = {
    tools: [{ type: 'agent_toolset_20260401' }],
    config: { mcp_servers: ['docs'], approvals: { timeout_seconds: 60 }, output_schema: { type: 'object' } },
    environment: { repository: 'https://github.com/acme/shop' },
  }
  const found = findingsFor('a2a', requested, noSearch)
  assert.deepEqual(
    found.map(({ field, problem }) => [field, problem !== undefined]),
    [
      ['environment.repository', false],
      ['tools[0]', false],
      ['config.mcp_servers', true],
      ['config.approvals.timeout_seconds', false],
      ['config.output_schema', true],
    ],
  )
  const custom = [{ type: 'custom', name: 'ask', description: 'Asks', input_schema: { type: 'object' } }]
  assert.match(
    findingsFor('a2a', { tools: custom, config: {} }, noSearch)[0]?.problem ?? '',
    /only the built-in runtime/,
  )
})

test('packages and networking of an environment are named as ignored where they have no effect', () => {
  const ignoredOf = (spec: 'builtin' | 'acp' | 'cursor' | 'claude_managed_agents', environment: Json) =>
    findingsFor(spec, { tools: [], config: {}, environment }, noSearch).map(({ field, problem }) => problem ?? field)
  const networking = { type: 'limited', allowed_hosts: ['example.com'] }
  const packages = { type: 'packages', pip: ['pandas'], npm: [] }
  const both = ['environment.config.networking', 'environment.config.packages']
  for (const spec of ['builtin', 'acp', 'cursor'] as const) {
    assert.deepEqual(ignoredOf(spec, { config: { type: 'cloud', networking, packages } }), both, spec)
    assert.deepEqual(
      ignoredOf(spec, { networking, packages }),
      ['environment.networking', 'environment.packages'],
      spec,
    )
    assert.deepEqual(ignoredOf(spec, { config: { type: 'self_hosted' } }), ['environment.config.type'], spec)
    const defaults = { type: 'cloud', networking: { type: 'unrestricted' }, packages: { type: 'packages', pip: [] } }
    assert.deepEqual(ignoredOf(spec, { config: defaults }), [], spec)
  }
  assert.deepEqual(ignoredOf('claude_managed_agents', { networking, packages }), [])
  assert.deepEqual(ignoredOf('claude_managed_agents', { config: { networking, packages } }), [])
})
