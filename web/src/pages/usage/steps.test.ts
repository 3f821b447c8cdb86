import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stepsOf } from './steps.ts'
import { usageViewOf } from './view.ts'

const now = Date.parse('2026-03-29T12:30:00Z')
const viewOf = (address: Parameters<typeof usageViewOf>[0]) => usageViewOf({ zone: 'Europe/Berlin', ...address }, now)

test('one day has hours up to now, in the zone', () => {
  const view = viewOf({ range: 'today' })
  assert.equal(view.unit, 'hour')
  const steps = stepsOf(view, { from: '2026-03-28T23:00:00.000Z', to: '2026-03-29T22:00:00.000Z' }, now)
  assert.equal(steps.length, 14)
  assert.deepEqual(steps[0], { value: '2026-03-28T23:00:00Z', label: '00:00' })
  // The clock is put forward from 2:00 to 3:00.
  assert.deepEqual(
    steps.slice(1, 3).map(({ label }) => label),
    ['01:00', '03:00'],
  )
})

test('more days have days, also those without calls', () => {
  const view = viewOf({})
  const steps = stepsOf(view, { from: '2026-03-22T23:00:00.000Z', to: '2026-03-29T22:00:00.000Z' }, now)
  assert.equal(steps.length, 7)
  assert.deepEqual(steps.at(-1), { value: '2026-03-29', label: '29 Mar' })
})

test('hours of a long range are replaced by days, and the page says so', () => {
  assert.equal(viewOf({ group: 'hour' }).unit, 'hour')
  const long = viewOf({ group: 'hour', range: '30d' })
  assert.equal(long.unit, 'day')
  assert.equal(long.isTooLongForHours, true)
})
