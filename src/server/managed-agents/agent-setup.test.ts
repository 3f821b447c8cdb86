import assert from 'node:assert/strict'
import { test } from 'node:test'
import { completed } from '../agents/fields.ts'
import { attach, attachedIds, detachAll } from '../skills/blocks.ts'
import { toThreadAgent } from './agent-object.ts'
import { configOf, type Setup, withSetup } from './agent-setup.ts'

const blocks = { attach, attachedIds, detachAll }
const skill = { id: 'skill_1', name: 'Terse', content: 'Be terse.', description: null, created_at: '' }
const agent = completed({
  id: 'agent_1',
  name: 'Ada',
  model: 'demo',
  system: 'Base.',
  description: null,
  harness: 'builtin',
  tools: {},
  config: { runtime: 'builtin', odd: {}, webhook: { secret_key: 'KEY' } },
  skills: [],
  owner_id: 'ada',
  status: 'active',
  run_as_key_id: null,
  version: 1,
  created_at: 0,
})
const after = (setup: Setup, found = [skill], before = agent) => withSetup(before, setup, { blocks, found })

test('an empty setup leaves an agent unchanged, including settings outside of the dialect', () => {
  assert.deepEqual(after({}), agent)
  assert.deepEqual(after({ mcp_servers: [], skills: null }, []).config, agent.config)
})

test('settings of the dialect without a field of ours are stored, returned, and cleared', () => {
  const servers = [{ type: 'url' as const, name: 'x', url: 'https://x.example/mcp' }]
  const model = { id: 'other', effort: 'high', speed: 'fast' }
  const made = after({ model, mcp_servers: servers, skills: [{ type: 'anthropic', skill_id: 'xlsx' }] }, [])
  const shown = toThreadAgent(made, blocks)
  assert.deepEqual(shown.model, { id: 'other', effort: { type: 'high' }, speed: 'fast' })
  assert.deepEqual(shown.mcp_servers, servers)
  assert.deepEqual(shown.skills, [{ type: 'anthropic', skill_id: 'xlsx', version: 'latest' }])
  const cleared = after({ model: 'other', mcp_servers: null, skills: [] }, [], made)
  assert.deepEqual(cleared.config, agent.config)
})

test('a skill of the library is in the prompt and returned separately', () => {
  const made = after({ skills: [{ type: 'custom', skill_id: skill.id }] })
  assert.match(made.system, /^Base\.\n\n<!-- skill:skill_1 -->\nBe terse\.$/)
  assert.equal(toThreadAgent(made, blocks).system, 'Base.')
  const rewritten = after({ system: 'New.' }, [], made)
  assert.match(rewritten.system, /^New\.\n\n<!-- skill:skill_1 -->\nBe terse\.$/)
  assert.deepEqual(toThreadAgent(rewritten, blocks).skills, toThreadAgent(made, blocks).skills)
  const stripped = after({ skills: [] }, [], rewritten)
  assert.deepEqual([stripped.system, stripped.skills], ['New.', []])
})

test('a cleared prompt is returned as null', () => {
  assert.equal(toThreadAgent(after({ system: null }), blocks).system, null)
})

test('empty keys are removed, and others stay', () => {
  assert.deepEqual(configOf({ a: {}, b: 1 }, { b: {}, c: [], d: 2, e: null }), { a: {}, d: 2 })
})
