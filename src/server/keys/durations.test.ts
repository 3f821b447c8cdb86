import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { intervalOf, isAtLeastAsLong } from './durations.ts'

test('intervalOf returns a PostgreSQL interval', () => {
  const table = {
    '90s': '90 seconds',
    '15m': '15 minutes',
    '12h': '12 hours',
    '30d': '30 days',
    '2w': '2 weeks',
    '1mo': '1 months',
  }
  for (const [text, interval] of Object.entries(table)) assert.equal(intervalOf(text), interval)
})

for (const [one, other, expected] of [
  ['30d', '30d', true],
  ['1mo', '1mo', true],
  ['2mo', '1mo', true],
  ['1mo', '28d', true],
  ['1mo', '29d', false],
  ['30d', '1mo', false],
  ['31d', '1mo', true],
  ['1w', '7d', true],
  ['7d', '1w', true],
  ['6d', '1w', false],
  ['24h', '1d', true],
  ['12h', '1d', false],
] as const) {
  test(`${one} is ${expected ? 'never shorter' : 'not always as long'} than ${other}`, () => {
    assert.equal(isAtLeastAsLong(one, other), expected)
  })
}

test('months and another unit are never each at least as long as the other', () => {
  const some = (unit: string) => fc.integer({ min: 1, max: 400 }).map(amount => `${amount}${unit}`)
  const other = fc.constantFrom('h', 'd', 'w').chain(some)
  fc.assert(fc.property(some('mo'), other, (one, two) => !(isAtLeastAsLong(one, two) && isAtLeastAsLong(two, one))))
})
