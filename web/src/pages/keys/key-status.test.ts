import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keyName, keyStatus } from './key-status.ts'

const now = Date.parse('2026-11-26T12:00:00Z')
const fresh = { revoked_at: null, expires_at: null, max_budget: null, spend: 0, reserved: 0 }

const cases = [
  ['active', {}],
  ['active', { expires_at: '2027-11-26T12:00:00Z', max_budget: 10, spend: 7 }],
  ['expires soon', { expires_at: '2026-11-28T12:00:00Z' }],
  ['expired', { expires_at: '2026-11-26T12:00:00Z' }],
  ['revoked', { revoked_at: '2026-11-01T00:00:00Z', expires_at: '2026-11-26T12:00:00Z' }],
  ['budget nearly used up', { max_budget: 10, spend: 7, reserved: 1, expires_at: '2026-11-28T12:00:00Z' }],
  ['budget used up', { max_budget: 10, spend: 10 }],
] as const

for (const [word, facts] of cases) {
  test(`a key is ${word}: ${JSON.stringify(facts)}`, () =>
    assert.equal(keyStatus({ ...fresh, ...facts }, now).word, word))
}

test('only revoked and expired keys are invalid', () => {
  const invalid = cases.filter(([, facts]) => !keyStatus({ ...fresh, ...facts }, now).isValid).map(([word]) => word)
  assert.deepEqual(invalid, ['expired', 'revoked'])
})

test('a key without a label is named by its characters', () => {
  assert.equal(keyName({ label: ' ', prefix: 'sk-abcd', last4: 'wxyz' }), 'sk-abcd…wxyz')
  assert.equal(keyName({ label: 'ci', prefix: 'sk-abcd', last4: 'wxyz' }), 'ci')
})
