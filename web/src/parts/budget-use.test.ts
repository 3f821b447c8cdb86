import assert from 'node:assert/strict'
import { test } from 'node:test'
import { budgetUse, dollars, periodWords } from './budget-use.ts'

const use = (spend: number, reserved: number, max_budget: number | null = 10) =>
  budgetUse({ spend, reserved, max_budget })

test('a budget is near its end from 80 % spent or reserved, and used up when all is spent', () => {
  assert.deepEqual(use(5, 2), { spentShare: 0.5, reservedShare: 0.2, percent: 70, state: 'room' })
  assert.deepEqual(use(7, 1), { spentShare: 0.7, reservedShare: 0.1, percent: 80, state: 'near' })
  assert.equal(use(9, 1)?.state, 'near')
  assert.equal(use(10, 0)?.state, 'used')
})

test('the shares of a bar never exceed its width', () => {
  const over = use(9, 5)
  assert.equal((over?.spentShare ?? 0) + (over?.reservedShare ?? 0), 1)
  assert.equal(over?.percent, 140)
  assert.deepEqual(use(12, 1), { spentShare: 1, reservedShare: 0, percent: 130, state: 'used' })
})

test('a budget of 0 is used up, and there is no bar without a limit', () => {
  assert.equal(use(0, 0, 0)?.state, 'used')
  assert.equal(use(5, 0, null), undefined)
})

test('periods and amounts have words', () => {
  const periods = ['1mo', '1d', '1w', '1h', '30d', '2w', null].map(periodWords)
  assert.deepEqual(periods, ['a month', 'a day', 'a week', 'an hour', 'every 30 days', 'every 2 weeks', 'in total'])
  assert.deepEqual([50, 0.5, 1234, 0.0001].map(dollars), ['$50', '$0.50', '$1,234', '$0.0001'])
})
