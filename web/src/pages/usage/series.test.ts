import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nested, stackOf, topCount } from './series.ts'

const steps = [
  { value: '2026-01-01', label: '1 Jan' },
  { value: '2026-01-02', label: '2 Jan' },
]

const amountsOf = (rows: readonly (readonly [step: string, id: string, amount: number])[]) =>
  nested(rows, { step: ([step]) => step, id: ([, id]) => id, amount: ([, , amount]) => amount })

test('the largest groups are series, and the rest of a step is one more', () => {
  const candidates = Array.from({ length: topCount + 2 }, (_, at) => ({ id: `g${at}`, name: `group.${at}` }))
  const rows = candidates.map(({ id }, at) => ['2026-01-01', id, 20 - at] as const)
  const total = rows.reduce((sum, [, , amount]) => sum + amount, 0)
  const { series, points } = stackOf({
    steps,
    candidates,
    amounts: amountsOf(rows),
    totals: new Map([['2026-01-01', total]]),
  })
  assert.equal(series.length, topCount + 1)
  assert.equal(series.at(-1)?.name, '2 others')
  const sums = points.map(({ values }) => Object.values(values).reduce<number>((sum, value) => sum + (value ?? 0), 0))
  assert.deepEqual(sums, [total, 0])
})

test('there is no series of others when all groups are shown', () => {
  const amounts = amountsOf([['2026-01-02', 'a', 0.1]])
  const totals = new Map([['2026-01-02', 0.1]])
  const { series } = stackOf({ steps, candidates: [{ id: 'a', name: 'a' }], amounts, totals })
  assert.deepEqual(
    series.map(({ name }) => name),
    ['a'],
  )
})

test('keys of series do not contain names', () => {
  const { series } = stackOf({
    steps,
    candidates: [{ id: 'x', name: '__proto__.polluted' }],
    amounts: amountsOf([]),
    totals: new Map(),
  })
  assert.equal(series[0]?.key, 's0')
})
