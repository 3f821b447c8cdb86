import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contextOf, headersOf, traceHeadersOf } from './trace-context.ts'

const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
const stateOf = (tracestate: string | readonly string[]) => contextOf({ traceparent, tracestate })?.state

test('a valid traceparent is read and written unchanged', () => {
  const context = contextOf({ traceparent })
  assert.ok(context)
  assert.deepEqual(headersOf(context), { traceparent })
})

test('unknown flags, and the fields of a later version, are not passed on', () => {
  const later = traceparent.replace(/^00/, 'cc').replace(/01$/, 'ff-what-comes-later')
  assert.deepEqual(traceHeadersOf({ traceparent: later }), { traceparent })
})

test('an invalid traceparent is no context, whatever tracestate says', () => {
  const zero = '0'.repeat(32)
  for (const text of [
    '',
    'x',
    `00-${zero}-00f067aa0ba902b7-01`,
    traceparent.replace('00f067aa0ba902b7', zero.slice(16)),
    traceparent.replace('00-', 'ff-'),
    traceparent.toUpperCase(),
    `${traceparent}x`,
    `${traceparent}-more`,
    `${traceparent}, ${traceparent}`,
    ` ${traceparent}`,
  ])
    assert.equal(traceHeadersOf({ traceparent: text, tracestate: 'a=1' }), undefined, text)
  assert.equal(traceHeadersOf({ tracestate: 'a=1' }), undefined)
  // Fields of JSON have any shape.
  for (const value of [null, 7, { toString: 1 }, [{ toString: 1 }]])
    assert.equal(traceHeadersOf({ traceparent: value }), undefined)
  assert.deepEqual(traceHeadersOf({ traceparent, tracestate: { toString: 1 } }), { traceparent })
})

test('tracestate is carried in its order, without blanks and empty entries', () => {
  assert.equal(stateOf('rojo=00f067aa0ba902b7 ,\tcongo=t61rcWkgMzE,,'), 'rojo=00f067aa0ba902b7,congo=t61rcWkgMzE')
  assert.equal(stateOf(['a=1', '0tenant@b=2']), 'a=1,0tenant@b=2')
  assert.equal(stateOf('a=in the middle!~'), 'a=in the middle!~')
  assert.equal(stateOf(''), undefined)
})

test('an invalid tracestate is dropped as a whole, and the traceparent stays', () => {
  const many = Array.from({ length: 33 }, (_, index) => `k${index}=v`).join(',')
  for (const text of ['a', 'a=', '=1', 'A=1', 'a=1=2', 'a=\u00e9', '1=1', `a=${'v'.repeat(257)}`, `a=1,b`, many])
    assert.deepEqual(traceHeadersOf({ traceparent, tracestate: text }), { traceparent }, text)
})

test('a hostile tracestate takes no longer than others', () => {
  const started = process.cpuUsage()
  for (const text of [
    `a=1${' '.repeat(30_000)}x`,
    ','.repeat(30_000),
    `a=${'b'.repeat(30_000)}`,
    ' '.repeat(4_000_000),
  ])
    assert.equal(stateOf(text), undefined)
  // Trimming with a regular expression takes quadratic time.
  const { user } = process.cpuUsage(started)
  assert.ok(user < 200_000, `${user} us`)
})

test('a long tracestate loses its long entries first, then the last ones', () => {
  const short = Array.from({ length: 20 }, (_, index) => `k${index}=${'v'.repeat(30)}`)
  const kept = stateOf([`long=${'v'.repeat(200)}`, ...short])
  assert.ok(kept && kept.length <= 512)
  assert.deepEqual(kept.split(','), short.slice(0, kept.split(',').length))
})
