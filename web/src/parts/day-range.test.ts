import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dayRangeOf, daysOf, rangeQueryOf } from './day-range.ts'

const now = Date.parse('2026-03-29T22:30:00Z')

test('named ranges end with the current day of the zone', () => {
  assert.deepEqual(dayRangeOf({ range: 'today', zone: 'Europe/Berlin' }, now), {
    name: 'today',
    from: '2026-03-30',
    to: '2026-03-30',
    zone: 'Europe/Berlin',
  })
  assert.equal(dayRangeOf({ zone: 'UTC' }, now).from, '2026-03-23')
  assert.equal(dayRangeOf({ range: '30d', zone: 'UTC' }, now).from, '2026-02-28')
})

test('the last day is part of a custom range', () => {
  const range = dayRangeOf({ range: 'custom', from: '2026-03-28', to: '2026-03-30', zone: 'Europe/Berlin' }, now)
  assert.deepEqual(rangeQueryOf(range), { from: '2026-03-28', to: '2026-03-31', timezone: 'Europe/Berlin' })
  assert.deepEqual(daysOf(range), ['2026-03-28', '2026-03-29', '2026-03-30'])
})

test('values that are not days or zones reach the service, which names them', () => {
  const range = dayRangeOf({ range: 'custom', from: 'soon', to: '2026-03-30', zone: 'Mars/Base' }, now)
  assert.deepEqual(rangeQueryOf(range), { from: 'soon', to: '2026-03-31', timezone: 'Mars/Base' })
  assert.deepEqual(daysOf(range), [])
  assert.equal(dayRangeOf({ zone: 'Mars/Base' }, now).to, '2026-03-29')
})
