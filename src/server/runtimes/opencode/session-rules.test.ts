import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sessionRules } from './session-rules.ts'

test('an agent that allows everything leaves the rules to the server', () => {
  assert.deepEqual(sessionRules({}), [])
  assert.deepEqual(sessionRules([]), [])
})

test('what an agent asks for or denies is a rule of the session, behind the one for all else', () => {
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
