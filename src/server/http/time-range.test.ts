import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AppError } from '../platform/errors.ts'
import { checkTimezone, timeRangeOf } from './time-range.ts'

const fromOf = (from: string, timezone?: string) => timeRangeOf({ from }, timezone).from?.toISOString()

const times: readonly (readonly [from: string, timezone: string, expected: string])[] = [
  ['2026-01-31', 'UTC', '2026-01-31T00:00:00.000Z'],
  ['2026-01-31', 'Europe/Berlin', '2026-01-30T23:00:00.000Z'],
  ['2026-07-01', 'Europe/Berlin', '2026-06-30T22:00:00.000Z'],
  ['2026-03-29', 'Europe/Berlin', '2026-03-28T23:00:00.000Z'],
  ['2026-03-30', 'Europe/Berlin', '2026-03-29T22:00:00.000Z'],
  ['2026-10-25', 'Europe/Berlin', '2026-10-24T22:00:00.000Z'],
  ['2026-01-31', 'America/New_York', '2026-01-31T05:00:00.000Z'],
  ['2026-01-31', 'Asia/Kolkata', '2026-01-30T18:30:00.000Z'],
  ['2026-01-31', 'Pacific/Kiritimati', '2026-01-30T10:00:00.000Z'],
  ['2026-01-31T12:00:00Z', 'Asia/Kolkata', '2026-01-31T12:00:00.000Z'],
  ['2026-01-31T12:00Z', 'UTC', '2026-01-31T12:00:00.000Z'],
  ['2026-01-31t12:00:00.123456z', 'UTC', '2026-01-31T12:00:00.123Z'],
  ['2026-01-31T12:00:00+02:00', 'UTC', '2026-01-31T10:00:00.000Z'],
  ['2026-01-31T12:00:00 02:00', 'UTC', '2026-01-31T10:00:00.000Z'],
  ['2024-02-29', 'UTC', '2024-02-29T00:00:00.000Z'],
]
for (const [from, timezone, expected] of times) {
  test(`${from} in ${timezone} is ${expected}`, () => assert.equal(fromOf(from, timezone), expected))
}

const wrong = ['', '2026', '2026-02-30', '2026-13-01', '2026-01-31T12:00:00', '2026-01-31T25:00:00Z', 'yesterday', '1']
for (const text of wrong) {
  test(`${JSON.stringify(text)} is rejected with the field`, () => {
    assert.throws(
      () => timeRangeOf({ to: text }),
      (error: unknown) =>
        error instanceof AppError && error.code === 'invalid_request' && /^to must/.test(error.message),
    )
  })
}

test('an empty or reversed range is rejected', () => {
  for (const to of ['2026-01-30', '2026-01-31']) {
    assert.throws(() => timeRangeOf({ from: '2026-01-31', to }), /to must be later than from/)
  }
  assert.deepEqual(timeRangeOf({}), { from: undefined, to: undefined })
})

test('only IANA time zone names are accepted; offsets and other text are rejected', () => {
  for (const zone of ['UTC', 'Europe/Berlin', 'America/Argentina/Buenos_Aires']) assert.equal(checkTimezone(zone), zone)
  for (const zone of ['', 'Mars/Olympus', '+02:00', '-05', 'Europe/Berlin; drop table usage']) {
    assert.throws(() => checkTimezone(zone), /timezone must be an IANA/, zone)
  }
})
