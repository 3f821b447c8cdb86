import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Behalf, type Caller, masterCaller } from '../../http/caller.ts'
import { type Answerer, approvalPolicyOf, mayAnswer } from './approval-policy.ts'

const keyOf = (id: string) => ({ id, models: [], isLimited: false, isNarrow: false, expires: false })
const user = (id: string): Caller => ({ principal: id, role: 'user', ownerScope: undefined, key: keyOf(id) })
const admin: Caller = { ...user('key_admin'), role: 'admin' }
const program: Caller = { ...masterCaller, behalf: {} as Behalf }

test('approvals may be answered for 24 hours by everyone who may see the session, unless the agent says otherwise', () => {
  const hourMs = 3_600_000
  const of = (approvals?: object, source?: string) =>
    approvalPolicyOf({ config: approvals ? { approvals } : {}, environment: source ? { source } : {} })
  assert.deepEqual(of(), { approvers: null, expiresInMs: 24 * hourMs })
  assert.deepEqual(of({ approvers: ['key_a'], expires_in: '2h' }), { approvers: ['key_a'], expiresInMs: 2 * hourMs })
  assert.deepEqual(of({ approvers: 'key_a', expires_in: 7 }), { approvers: null, expiresInMs: 24 * hourMs })
})

for (const source of ['webhook', 'schedule', 'deployment'])
  test(`S37: approvals of a session that a ${source} has started are for admins and links, unless the agent names others`, () => {
    const of = (approvals: object) => approvalPolicyOf({ config: { approvals }, environment: { source } }).approvers
    assert.deepEqual(of({}), ['admin', 'link'])
    assert.deepEqual(of({ approvers: ['user'] }), ['user'])
  })

const cases: readonly [string, readonly string[] | null, Answerer, boolean][] = [
  ['everyone, when no approvers are named', null, user('key_a'), true],
  ['a holder of the link, when no approvers are named', null, 'link', true],
  ['the listed key', ['key_a'], user('key_a'), true],
  ['no other key', ['key_a'], user('key_b'), false],
  ['no admin that is not listed', ['key_a'], admin, false],
  ['an admin key by its role', ['admin'], admin, true],
  ['the master key by its role', ['admin'], masterCaller, true],
  ['a user key by its role', ['user'], user('key_a'), true],
  ['no admin by the role of users', ['user'], masterCaller, false],
  ['a holder of the link when it is listed', ['key_a', 'link'], 'link', true],
  ['no holder of the link otherwise', ['admin'], 'link', false],
  ['never a program of the session', null, program, false],
  ['never a program of the session, whatever its role', ['admin'], program, false],
]
for (const [who, approvers, by, expected] of cases)
  test(`an approval is answered by ${who}`, () => assert.equal(mayAnswer(approvers, by), expected))
