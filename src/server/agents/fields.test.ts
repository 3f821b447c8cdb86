import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AgentFile, AgentWrite } from '../../contract/agents.ts'
import { publicFields } from './audited.ts'
import { fieldNames, fieldsAfter, fieldsWhere } from './fields.ts'
import type { AgentFields, StoredAgent } from './stored-agent.ts'
import { versionDiff } from './version-diff.ts'

const defaults = { model: 'demo', runtime: 'builtin' }
const server = { id: 'agent_1', status: 'active', version: 1, created_at: 1, run_as_key_id: null } as const
const agent: StoredAgent = { ...server, ...fieldsAfter({ name: 'Ada', owner_id: 'team' }, undefined, defaults) }

/** Another value of each field. */
const other: AgentFields = {
  name: 'Bob',
  owner_id: 'others',
  model: 'm',
  system: 'Be brief.',
  description: 'Writes notes',
  harness: 'opencode',
  tools: [{ type: 'bash' }],
  config: { runtime: 'opencode' },
  skills: [{ id: 'skill_1', name: 'X', block: 'x' }],
}

test('a file has the fields that the table marks, and the schema of the API the same', () => {
  const { properties } = AgentFile.properties.agent
  assert.deepEqual(fieldsWhere(({ inFile }) => inFile).toSorted(), Object.keys(properties).toSorted())
})

test('a write can set every field but skills', () => {
  const settable = fieldNames.filter(name => name !== 'skills')
  for (const name of settable) assert.ok(name in AgentWrite.properties, name)
})

for (const name of fieldNames) {
  const changed: StoredAgent = { ...agent, [name]: other[name] }

  test(`a change of ${name} is in the audit log`, () => {
    assert.notDeepEqual(publicFields(changed), publicFields(agent))
  })

  test(`a change of ${name} is in the difference of two versions`, () => {
    const fields = versionDiff(agent, changed).map(({ field }) => field)
    const shown = name === 'config' ? ['config.runtime'] : [name]
    assert.deepEqual(fields, name === 'skills' ? [] : shown)
  })
}

test('a difference shows a status', () => {
  assert.deepEqual(versionDiff(agent, { ...agent, status: 'paused' }), [
    { field: 'status', before: 'active', after: 'paused' },
  ])
})
