import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { Agent, AgentFile, AgentWrite } from '../../contract/agents.ts'
import { toManagedAgent } from '../managed-agents/agent-object.ts'
import type { SkillBlocks } from '../managed-agents/agent-setup.ts'
import { publicFields } from './audited.ts'
import { agentFields, completed, fieldNames, fieldsAfter, fieldsWhere, storedNames } from './fields.ts'
import type { AgentFields, StoredAgent } from './stored-agent.ts'
import { versionDiff } from './version-diff.ts'

const defaults = { model: 'demo', runtime: 'builtin' }
const server = { id: 'agent_1', status: 'active', version: 1, created_at: 1, run_as_key_id: null } as const
const agent: StoredAgent = { ...server, ...fieldsAfter({ name: 'Ada', owner_id: 'team' }, undefined, defaults) }

const blocks: SkillBlocks = {
  attach: carrier => carrier,
  detachAll: carrier => carrier,
  attachedIds: ({ skills }) => skills.map(({ id }) => id),
}
const around = { updated_at: new Date(0), archived_at: null, blocks, multiagent: null }

/** Another value of each field. */
const other: AgentFields = {
  name: 'Bob',
  owner_id: 'others',
  model: 'm',
  system: 'Be brief.',
  description: 'Writes notes',
  harness: 'opencode',
  tools: [{ type: 'bash' }],
  config: { runtime: 'opencode', metadata: { team: 'docs' } },
  skills: [{ id: 'skill_1', name: 'X', block: 'x' }],
}

/** Fields of a version that the first release stored. */
const firstSnapshot = {
  ...{ id: 'agent_1', name: 'Ada', model: 'demo', system: '', tools: {}, config: {}, owner_id: 'team' },
  ...({ status: 'active', description: null, harness: 'builtin', created_at: 1, version: 1 } as const),
}

test('the table has every field of an agent in the API, and one that callers do not see', () => {
  assert.deepEqual(storedNames.toSorted(), [...Object.keys(Agent.properties), 'skills'].toSorted())
})

test('a version of the first release is read with every field', () => {
  const missing = Object.entries(completed(firstSnapshot)).filter(([, value]) => value === undefined)
  assert.deepEqual(missing, [])
  assert.deepEqual(Object.keys(completed(firstSnapshot)).toSorted(), storedNames.toSorted())
})

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
    const shown = name === 'config' ? ['config.runtime', 'config.metadata'] : [name]
    assert.deepEqual(fields, name === 'skills' ? [] : shown)
  })

  const { inDialect } = agentFields[name]
  test(`a change of ${name} is ${inDialect ? '' : 'not '}in the object of the Managed Agents API`, () => {
    assert.equal(isDeepStrictEqual(toManagedAgent(changed, around), toManagedAgent(agent, around)), !inDialect)
  })
}

test('a difference shows a status', () => {
  assert.deepEqual(versionDiff(agent, { ...agent, status: 'paused' }), [
    { field: 'status', before: 'active', after: 'paused' },
  ])
})
