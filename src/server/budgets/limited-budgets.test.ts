import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LimitedBudgets } from './limited-budgets.ts'
import type { BudgetName, Payers } from './store.ts'

const payersOf = (payers: Partial<Payers>): Payers => ({
  key: undefined,
  owner: undefined,
  agent: undefined,
  session: undefined,
  ...payers,
})

/** Cache over a table in which only `limited` have limits; `loads` lists the round trips. */
function memory(limited: string[] = [], capacity = 100) {
  const loads: string[][] = []
  const clock = { ms: 0 }
  const named = ({ scope, scope_id }: BudgetName) => `${scope}:${scope_id}`
  const budgets = new LimitedBudgets({
    load: async names => {
      loads.push(names.map(named))
      return names.filter(name => limited.includes(named(name)))
    },
    nowMs: () => clock.ms,
    capacity,
  })
  return { budgets, loads, clock, limited }
}

test('a call without payers needs no round trip', () => {
  const { budgets, loads } = memory()
  assert.equal(budgets.isAny(payersOf({ key: 'key_1' })), false)
  assert.deepEqual(loads, [])
})

test('payers with and without limits are cached for 5 seconds', async () => {
  const { budgets, loads, clock } = memory(['agent:a'])
  assert.equal(await budgets.isAny(payersOf({ owner: 'o', session: 's' })), false)
  assert.equal(await budgets.isAny(payersOf({ owner: 'o', agent: 'a' })), true)
  assert.deepEqual(loads, [['owner:o', 'session:s'], ['agent:a']])
  assert.equal(budgets.isAny(payersOf({ owner: 'o', session: 's' })), false)
  assert.equal(budgets.isAny(payersOf({ owner: 'o', agent: 'a' })), true)
  clock.ms = 4_999
  assert.equal(budgets.isAny(payersOf({ owner: 'o' })), false)
  clock.ms = 5_000
  assert.equal(await budgets.isAny(payersOf({ owner: 'o' })), false)
  assert.equal(loads.length, 3)
})

test('a notified change is loaded at once, and everything is after missed notifications', async () => {
  const { budgets, loads, limited } = memory()
  await budgets.isAny(payersOf({ owner: 'o:1', agent: 'a' }))
  limited.push('owner:o:1')
  budgets.forget('owner:o:1')
  assert.equal(await budgets.isAny(payersOf({ owner: 'o:1', agent: 'a' })), true)
  assert.deepEqual(loads[1], ['owner:o:1'])
  budgets.clear()
  await budgets.isAny(payersOf({ agent: 'a' }))
  assert.deepEqual(loads[2], ['agent:a'])
})

test('a result loaded before a change is not cached after it', async () => {
  const gate = Promise.withResolvers<readonly BudgetName[]>()
  const answers = [gate.promise, Promise.resolve([{ scope: 'owner', scope_id: 'o' } as const])]
  const budgets = new LimitedBudgets({ load: async () => (await answers.shift()) ?? [], nowMs: () => 0 })
  const early = budgets.isAny(payersOf({ owner: 'o' }))
  budgets.forget('owner:o')
  gate.resolve([])
  assert.equal(await early, false)
  assert.equal(await budgets.isAny(payersOf({ owner: 'o' })), true)
})

test('the oldest entries are evicted above the capacity', async () => {
  const { budgets, loads } = memory([], 2)
  for (const session of ['1', '2', '3', '2', '3', '1']) await budgets.isAny(payersOf({ session }))
  assert.deepEqual(loads.flat(), ['session:1', 'session:2', 'session:3', 'session:1'])
})
