import assert from 'node:assert/strict'
import { test } from 'node:test'
import { raiseAmounts } from './raise-amounts.ts'

const cases = [
  [10, 4, [15, 20, 50]],
  [0.5, 0.5, [0.75, 1, 2.5]],
  [0.03, 0, [0.045, 0.06, 0.15]],
  [33.33, 10, [50, 67, 170]],
  [1, 12.41, [19, 25, 63]],
  [0, 0, [5, 20, 100]],
  [null, 3, [4.5, 6, 15]],
] as const

for (const [max_budget, spend, amounts] of cases) {
  test(`a budget of ${max_budget} with ${spend} spent is offered ${amounts.join(', ')}`, () => {
    assert.deepEqual(raiseAmounts({ max_budget, spend }), [...amounts])
  })
}
