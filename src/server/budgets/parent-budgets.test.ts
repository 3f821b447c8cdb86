import assert from 'node:assert/strict'
import { test } from 'node:test'
import { budgetBench, rowOf } from '../../../test/support/keys/budget-bench.ts'

const bench = await budgetBench()

const shown = async (id: string) => {
  const { spent_usd, reserved_usd, parallel } = await bench.budget('key', id)
  return { spent: Number(spent_usd), reserved: Number(reserved_usd), parallel }
}

test('M1: children together spend exactly the budget of their parent', async () => {
  await bench.set('key', 'parent', { max_usd: '1' })
  await bench.key('parent')
  const children = Array.from({ length: 5 }, (_, at) => `child_${at}`)
  for (const id of children) {
    await bench.set('key', id, { max_usd: '1' })
    await bench.key(id, { ancestors: ['parent'] })
  }
  const asked = Array.from({ length: 50 }, (_, at) =>
    bench.reserve({ request_id: `p_${at}`, payers: { key: `child_${at % 5}` }, amount_usd: '0.1' }),
  )
  const verdicts = await Promise.all(asked)
  const admitted = verdicts.flatMap(({ is_admitted }, at) => (is_admitted ? [at] : []))
  assert.equal(admitted.length, 10)
  assert.deepEqual(await shown('parent'), { spent: 0, reserved: 1, parallel: 10 })
  const refused = verdicts.find(({ is_admitted }) => !is_admitted)
  assert.deepEqual(
    refused?.budgets.filter(({ has_money }) => !has_money).map(({ scope_id }) => scope_id),
    ['parent'],
  )
  const rows = admitted.map(at => rowOf(`p_${at}`, { key: `child_${at % 5}` }, '0.1'))
  await bench.usage.settle({ rows, released: [] })
  assert.deepEqual(await shown('parent'), { spent: 1, reserved: 0, parallel: 0 })
})

test('M1: a call counts in the budgets of all ancestors, even if its own key has no limit', async () => {
  await bench.set('key', 'grand', { max_usd: '5' })
  await bench.set('key', 'between', {})
  await bench.set('key', 'leaf', {})
  await bench.key('grand')
  await bench.key('between', { ancestors: ['grand'] })
  await bench.key('leaf', { ancestors: ['between', 'grand'] })
  const { is_admitted, budgets } = await bench.reserve({
    request_id: 'leaf_1',
    payers: { key: 'leaf' },
    amount_usd: '2',
  })
  assert.deepEqual([is_admitted, budgets.map(({ scope_id }) => scope_id)], [true, ['grand']])
  assert.deepEqual(await shown('grand'), { spent: 0, reserved: 2, parallel: 1 })
  await bench.usage.settle({ rows: [rowOf('leaf_1', { key: 'leaf' }, '1.5')], released: [] })
  for (const id of ['grand', 'between', 'leaf'])
    assert.deepEqual(await shown(id), { spent: 1.5, reserved: 0, parallel: 0 }, id)
})

test('M1: concurrent calls of parents and children neither deadlock nor leave reservations', async () => {
  await bench.set('key', 'z_top', { max_usd: '3' })
  await bench.key('z_top')
  for (const id of ['a_low', 'm_low']) {
    await bench.set('key', id, { max_usd: '2' })
    await bench.key(id, { ancestors: ['z_top'] })
  }
  const keys = ['z_top', 'a_low', 'm_low']
  const work = Array.from({ length: 200 }, async (_, at) => {
    const payers = { key: keys[at % 3] ?? '' }
    const request_id = `z_${at}`
    if (!(await bench.reserve({ request_id, payers, amount_usd: '0.1' })).is_admitted) return
    const row = rowOf(request_id, payers, '0.05')
    await bench.usage.settle(at % 2 === 0 ? { rows: [row], released: [] } : { rows: [], released: [request_id] })
  })
  await Promise.all(work)
  for (const id of keys) assert.deepEqual({ ...(await shown(id)), spent: 0 }, { spent: 0, reserved: 0, parallel: 0 })
  assert.ok((await shown('z_top')).spent <= 3)
})
