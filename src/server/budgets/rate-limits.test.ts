import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rateLimitsOf } from './rate-limits.ts'
import type { BudgetState } from './reservation-store.ts'

const stateOf = (changes: Partial<BudgetState>): BudgetState => ({
  scope: 'key',
  scope_id: 'key_1',
  max_usd: null,
  soft_usd: null,
  duration: null,
  rpm_limit: null,
  tpm_limit: null,
  max_parallel: null,
  spent_usd: '0',
  reserved_usd: '0',
  parallel: 0,
  requests: 0,
  tokens: 0,
  reset_at: null,
  window_rest_s: 12,
  is_warned: false,
  has_requests: true,
  has_tokens: true,
  has_slot: true,
  has_money: true,
  ...changes,
})

test('P4: the remaining figures include the current call and never go below 0', () => {
  const budget = stateOf({ rpm_limit: 5, requests: 1, tpm_limit: 100, tokens: 90 })
  assert.deepEqual(rateLimitsOf([budget], { requests: 1, tokens: 20 }), {
    requests: { limit: 5, remaining: 3, resetSeconds: 12 },
    tokens: { limit: 100, remaining: 0, resetSeconds: 12 },
  })
})

test('P4: of several budgets the one with the least remaining is reported, separately for requests and tokens', () => {
  const limits = rateLimitsOf([
    stateOf({ rpm_limit: 10, requests: 9, tpm_limit: 1_000 }),
    stateOf({ rpm_limit: 5, requests: 1, tpm_limit: 500 }),
    stateOf({}),
  ])
  assert.deepEqual([limits?.requests?.limit, limits?.tokens?.limit], [10, 500])
})

test('P4: budgets that limit only money report no rate limits', () => {
  assert.equal(rateLimitsOf([stateOf({ max_usd: '1' })]), undefined)
  assert.equal(rateLimitsOf([]), undefined)
})
