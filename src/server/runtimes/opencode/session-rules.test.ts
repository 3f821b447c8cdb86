import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sessionRules } from './session-rules.ts'

test('an agent that allows everything leaves the rules to the server', () => {
  assert.deepEqual(sessionRules({}), [])
  assert.deepEqual(sessionRules([]), [])
})

test('tools with the policy ask or deny become rules of the session, after the default rule', () => {
  const rules = sessionRules([
    { type: 'bash', permission_policy: 'ask' },
    { type: 'read' },
    { type: 'edit', permission_policy: 'deny' },
    { type: 'write' },
  ])
  assert.deepEqual(rules[0], { permission: '*', pattern: '*', action: 'ask' })
  const actionOf = (name: string) => rules.findLast(({ permission }) => permission === name)?.action
  assert.deepEqual([actionOf('bash'), actionOf('read'), actionOf('edit')], ['ask', 'allow', 'deny'])
  assert.equal(actionOf('glob'), 'deny', 'a tool that the agent does not have')
})
