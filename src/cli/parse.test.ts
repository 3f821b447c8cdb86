import assert from 'node:assert/strict'
import { test } from 'node:test'
import { agoText, elapsedText } from './format.ts'
import { duration, serviceUrl, someText, wholeNumber } from './parse.ts'
import { tableLines } from './table.ts'

test('times need a unit and must not exceed the maximum of a timer', () => {
  const read = ['500ms', '90s', '10m', '1.5h'].map(duration)
  assert.deepEqual(read, [500, 90_000, 600_000, 5_400_000])
  for (const text of ['', '10', '0s', '-1s', '1d', 's', '1e3s', '999999999h']) assert.throws(() => duration(text), text)
})

test('whole numbers must be in their range', () => {
  const read = wholeNumber({ min: 1, max: 200 })
  assert.deepEqual(['1', '200', '007'].map(read), [1, 200, 7])
  for (const text of ['', '0', '201', '1.5', '-1', '1e2', ' 1', 'x']) assert.throws(() => read(text), text)
})

test('addresses must be http or https, and a trailing slash is removed', () => {
  assert.equal(serviceUrl('http://127.0.0.1:4000/'), 'http://127.0.0.1:4000')
  assert.equal(serviceUrl('https://host/base'), 'https://host/base')
  for (const text of ['', 'localhost:4000', 'ftp://host', 'nope']) assert.throws(() => serviceUrl(text), text)
})

test('blank text is rejected, and other text is unchanged', () => {
  assert.equal(someText(' a '), ' a ')
  assert.throws(() => someText(' \n'))
})

test('time spans are formatted in suitable units', () => {
  const spans = [0, 940, 9_960, 59_400, 125_000, 7_800_000, 300_000_000].map(elapsedText)
  assert.deepEqual(spans, ['0.0 s', '0.9 s', '10 s', '59 s', '2 min 5 s', '2 h 10 min', '3 d'])
  const ages = [-5, 59_000, 300_000, 7_300_000, 300_000_000].map(agoText)
  assert.deepEqual(ages, ['now', 'now', '5 min ago', '2 h ago', '3 d ago'])
})

test('table columns are aligned, also with characters of two code units', () => {
  const lines = tableLines(
    ['ID', 'NAME', 'LAST'],
    [
      ['1', '😀', 'x'],
      ['22', 'ab', 'y'],
    ],
  )
  assert.deepEqual(lines, ['ID  NAME  LAST', '1   😀    x', '22  ab    y'])
})
