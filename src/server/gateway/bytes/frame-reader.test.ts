import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { sseReader } from '../../../contract/sse.ts'
import { createFrameReader } from './frame-reader.ts'

/** Returns the frames that the reader finds in `bytes`, split at `cuts`. */
function read(bytes: Buffer, cuts: readonly number[] = []) {
  const reader = createFrameReader('sse')
  const places = [...new Set(cuts.map(cut => cut % (bytes.length + 1)))].toSorted((a, b) => a - b)
  const pieces = [0, ...places].map((from, at) => bytes.subarray(from, places[at] ?? bytes.length))
  return pieces.flatMap(piece => reader.push(piece).frames)
}

/** Valid and invalid lines of upstreams. */
const line = fc.oneof(
  fc.string({ unit: 'grapheme' }).map(text => `data: ${text.replaceAll(/[\r\n]/g, '')}`),
  fc.constantFrom(
    'data:{"a":1}',
    'event: ping',
    'event:x',
    ': keep-alive',
    'id: 7',
    'retry: 1',
    'data',
    '',
    '\uFEFFdata: x',
  ),
)
const stream = fc
  .array(fc.tuple(line, fc.constantFrom('\n', '\n\n', '\r\n', '\r\n\r\n', '\n\n\n')), { maxLength: 20 })
  .map(lines => lines.map(([text, end]) => text + end).join(''))

test('T12: for any stream and any split the frames are those of the standard', () => {
  fc.assert(
    fc.property(stream, fc.array(fc.nat(), { maxLength: 8 }), (text, cuts) => {
      const expected = [...sseReader()(text)].map(({ event, data }) => ({ event, data }))
      assert.deepEqual(read(Buffer.from(text), cuts), expected)
    }),
  )
})

test('characters split between chunks are joined', () => {
  const bytes = Buffer.from('data: über 🌊\n\ndata: ok\n\n')
  for (let at = 0; at <= bytes.length; at++) {
    assert.deepEqual(
      read(bytes, [at]).map(({ data }) => data),
      ['über 🌊', 'ok'],
    )
  }
})

test('a last event without its empty line is returned at the end, unless it was truncated', () => {
  const lastOf = (text: string) => {
    const reader = createFrameReader('sse')
    reader.push(Buffer.from(`data: {}\n\n${text}`))
    return reader.finish().map(({ data }) => data)
  }
  assert.deepEqual(lastOf('data: {"a":1}'), ['{"a":1}'])
  assert.deepEqual(lastOf('event: x\r\ndata: {"a":1}\r\n'), ['{"a":1}'])
  assert.deepEqual(lastOf('data: [DONE]\n'), ['[DONE]'])
  for (const text of ['', 'data: {"a":', 'event: x', ': ping']) assert.deepEqual(lastOf(text), [])
})

test('F17: an event of more than 1 MiB is a fault, and the frames before it are returned', () => {
  const reader = createFrameReader('sse')
  assert.deepEqual(reader.push(Buffer.from('data: first\n\n')).frames, [{ event: undefined, data: 'first' }])
  const long = Buffer.from(`data: ${'x'.repeat(100_000)}`)
  assert.equal(reader.push(long).fault, undefined)
  const faults = Array.from({ length: 11 }, () => reader.push(long.subarray(6)).fault)
  assert.equal(faults.at(-1), 'sent an event longer than 1 MiB')
})
