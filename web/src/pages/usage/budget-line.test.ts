import assert from 'node:assert/strict'
import { test } from 'node:test'
import { budgetLine, budgetOf } from './budget-line.ts'

test('a budget applies to the calls of one key, owner, agent or session', () => {
  assert.deepEqual(budgetOf({ key_id: 'key_1' }), { scope: 'key', scope_id: 'key_1' })
  assert.equal(budgetOf({ key_id: 'key_1', model: 'demo' }), undefined)
  assert.equal(budgetOf({ model: 'demo' }), undefined)
  assert.equal(budgetOf({}), undefined)
})

const line = (max_budget: number | null, budget_duration: string | null, unit: 'day' | 'hour' = 'day') =>
  budgetLine({ max_budget, budget_duration }, unit)

test('the line is the limit when its period is one step', () => {
  assert.deepEqual(line(20, '1d'), { usd: 20, label: 'budget $20 a day' })
  assert.equal(line(2, '1h', 'hour')?.usd, 2)
})

test('for other periods the line is an even use of the budget', () => {
  assert.deepEqual(line(70, '1w'), { usd: 10, label: 'even use of budget $70 a week' })
  assert.equal(line(24, '1d', 'hour')?.usd, 1)
})

test('a budget without a limit or without a period has no line', () => {
  assert.equal(line(null, '1d'), undefined)
  assert.equal(line(10, null), undefined)
})
