import assert from 'node:assert/strict'
import { test } from 'node:test'
import { retryAfterMs } from './retryable.ts'

const now = Date.parse('2026-11-21T12:00:00Z')
const table = [
  ['seconds', { 'retry-after': '7' }, 7_000],
  ['parts of a second', { 'retry-after': '0.25' }, 250],
  ['a date ahead', { 'retry-after': 'Sat, 21 Nov 2026 12:00:30 GMT' }, 30_000],
  ['a date gone by', { 'retry-after': 'Sat, 21 Nov 2026 11:00:00 GMT' }, 0],
  ['a day, as 60 seconds', { 'retry-after': '86400' }, 60_000],
  ['a date of next year, as 60 seconds', { 'retry-after': 'Sun, 21 Nov 2027 12:00:00 GMT' }, 60_000],
  ['less than nothing', { 'retry-after': '-5' }, 0],
  ['milliseconds, which are finer', { 'retry-after-ms': '1500', 'retry-after': '2' }, 1_500],
  ['seconds beside milliseconds that are none', { 'retry-after-ms': 'soon', 'retry-after': '2' }, 2_000],
  ['words', { 'retry-after': 'in a while' }, undefined],
  ['nothing', { 'retry-after': '' }, undefined],
  ['no header', {}, undefined],
] as const

for (const [name, headers, expected] of table) {
  test(`F14: Retry-After is parsed: ${name}`, () => assert.equal(retryAfterMs(headers, now), expected))
}
