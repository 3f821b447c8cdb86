import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressOf, changeDigest, changedFields } from './changes.ts'

test('only fields that differ are changes', () => {
  const entry = { before: { a: 1, b: [1], c: 'x' }, after: { a: 2, b: [1], d: null } }
  assert.deepEqual(changedFields(entry), [
    { name: 'a', before: '1', after: '2' },
    { name: 'c', before: '"x"', after: undefined },
    { name: 'd', before: undefined, after: 'null' },
  ])
})

test('the digest names the fields of a new object, and both values of a changed one', () => {
  assert.equal(changeDigest({ before: null, after: { label: 'ci', max_budget: 5 } }), 'label, max_budget')
  assert.equal(changeDigest({ before: { max_budget: 5 }, after: { max_budget: 50 } }), 'max_budget 5 → 50')
  assert.equal(changeDigest({ before: { label: 'ci' }, after: null }), 'was label "ci"')
  assert.equal(changeDigest({ before: null, after: null }), '')
  assert.ok(changeDigest({ before: { text: '' }, after: { text: 'x'.repeat(500) } }).length < 100)
})

test('an object has its page; an id cannot leave its parameter', () => {
  assert.equal(addressOf({ action: 'key.update', object_id: 'key_1' }), '/console/keys?open=key_1')
  assert.equal(addressOf({ action: 'budget.set', object_id: 'owner:a&b' }), '/console/budgets?open=owner%2Fa%26b')
  assert.equal(addressOf({ action: 'agent.delete', object_id: '../x' }), '/console/agents/..%2Fx')
  assert.equal(addressOf({ action: 'vault.set', object_id: 'A' }), undefined)
})
