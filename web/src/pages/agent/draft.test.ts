import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Agent } from '../../../../src/contract/agents.ts'
import { changesOf, draftOf, isEqual, rebased, updateOf } from './draft.ts'

const agent: Agent = {
  id: 'agent_1',
  name: 'Scribe',
  model: 'demo',
  system: 'One.\nTwo.',
  tools: [{ type: 'bash' }],
  config: { runtime: 'builtin', max_turns: 20, network: { type: 'none' } },
  owner_id: 'me',
  status: 'active',
  description: null,
  harness: 'builtin',
  created_at: 0,
  version: 3,
  run_as_key_id: null,
}
const draft = draftOf(agent)

test('an untouched draft has no changes', () => {
  assert.deepEqual(changesOf(draft, draftOf(structuredClone(agent))), [])
})

test('changes list fields, and settings one by one', () => {
  const edited = { ...draft, system: 'One.', config: { max_turns: 30, busy_mode: 'reject' } }
  assert.deepEqual(
    changesOf(draft, edited).map(({ field, before, after }) => [field, before, after]),
    [
      ['system', 'One.\nTwo.', 'One.'],
      ['config.max_turns', '20', '30'],
      ['config.network', '{\n  "type": "none"\n}', ''],
      ['config.busy_mode', '', 'reject'],
    ],
  )
})

test('an update contains what differs, removed settings as null, and the version it expects', () => {
  const edited = { ...draft, harness: 'cursor', config: { max_turns: 30 } }
  assert.deepEqual(updateOf({ base: agent, draft: edited, note: ' ' }), {
    name: 'Scribe',
    owner_id: 'me',
    expected_version: 3,
    runtime: 'cursor',
    config: { max_turns: 30, network: null },
  })
  assert.deepEqual(updateOf({ base: agent, draft: { ...draft, name: 'S' }, note: 'shorter' }), {
    name: 'S',
    owner_id: 'me',
    expected_version: 3,
    note: 'shorter',
  })
})

test('edits on top of a newer version keep what only the newer one changed', () => {
  const edited = { ...draft, system: 'Mine.', config: { max_turns: 30 } }
  const newer = {
    ...agent,
    version: 4,
    model: 'other',
    system: 'Theirs.',
    config: { ...agent.config, max_turns: 25, busy_mode: 'steer' },
  }
  const { system, model, config } = rebased(agent, edited, newer)
  assert.deepEqual([system, model, config], ['Mine.', 'other', { max_turns: 30, busy_mode: 'steer' }])
})

test('equality ignores the order of names, not that of items', () => {
  assert.ok(isEqual({ a: 1, b: [1, { c: null }] }, { b: [1, { c: null }], a: 1 }))
  assert.ok(!isEqual([1, 2], [2, 1]))
  assert.ok(!isEqual([], {}))
  assert.ok(!isEqual(null, {}))
})
