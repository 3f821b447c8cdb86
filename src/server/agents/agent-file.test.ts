import assert from 'node:assert/strict'
import { test } from 'node:test'
import { secretMarker, withoutSecrets } from '../audit/secret-fields.ts'
import { agentFile } from './agent-file.ts'
import { completed } from './fields.ts'
import type { StoredAgent } from './stored-agent.ts'

const agent = completed({
  id: 'agent_1',
  name: 'Ada',
  owner_id: 'team',
  description: null,
  model: 'demo',
  system: 'Base.\n\n<!-- skill:skill_1 -->\nx',
  harness: 'builtin',
  tools: {},
  config: { runtime: 'builtin' },
  status: 'paused',
  run_as_key_id: null,
  version: 7,
  created_at: 1,
  skills: [{ id: 'skill_1', name: 'X', block: '\n\n<!-- skill:skill_1 -->\nx' }],
})
const fileOf = (changes: Partial<StoredAgent>) =>
  agentFile({ ...agent, ...changes }, { mask: withoutSecrets, marker: secretMarker })

test('a file contains the settings of an agent, and no ids or times of its server', () => {
  const { name, owner_id, description, model, system, harness, tools, config, skills } = agent
  assert.deepEqual(fileOf({ config: { ...config, pinned_version: 3 } }), {
    format: 'switchyard.agent',
    format_version: 1,
    agent: { name, owner_id, description, model, system, harness, tools, config },
    skills,
    omitted: [],
  })
})

test('secrets are omitted at any depth and listed by path', () => {
  const secret = 'very-secret-value'
  const { agent: written, omitted } = fileOf({
    tools: [
      { type: 'mcp_toolset', headers: { 'x-any': secret } },
      { type: 'bash', note: `Bearer ${secret}` },
    ],
    config: {
      runtime: 'builtin',
      mcp_servers: [{ url: 'https://x', api_key: secret, tokens: [secret] }],
      max_tokens: 5,
    },
  })
  assert.deepEqual(written.tools, [{ type: 'mcp_toolset', headers: {} }, { type: 'bash' }])
  assert.deepEqual(written.config, {
    runtime: 'builtin',
    mcp_servers: [{ url: 'https://x', tokens: [] }],
    max_tokens: 5,
  })
  assert.deepEqual(omitted, [
    'tools[0].headers.x-any',
    'tools[1].note',
    'config.mcp_servers[0].api_key',
    'config.mcp_servers[0].tokens[0]',
  ])
})

test('names of vault entries are exported, and other texts in their place are omitted', () => {
  const config = {
    webhook: { secret_key: 'HOOK', signature: { preset: 'github', secret_key: 'SIGN' } },
    vault_keys: ['ONE', 'TWO'],
  }
  assert.deepEqual(fileOf({ config }).agent.config, config)
  const wrong = fileOf({ config: { webhook: { secret_key: 'sk-0123456789abcdef' }, vault_keys: ['not a name'] } })
  assert.deepEqual(wrong.agent.config, { webhook: {}, vault_keys: [] })
  assert.deepEqual(wrong.omitted, ['config.webhook.secret_key', 'config.vault_keys[0]'])
})
