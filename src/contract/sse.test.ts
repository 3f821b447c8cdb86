import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type SseFrame, SseLineTooLong, type SseReaderOptions, sseFrame, sseReader } from './sse.ts'

/** All frames of `chunks`, read one after the other. */
function framesOf(chunks: readonly string[], options: SseReaderOptions = {}): SseFrame[] {
  const read = sseReader(options)
  return chunks.flatMap(chunk => [...read(chunk)])
}

/** `text` cut at positions that are given as shares of its length. */
function cutAt(text: string, shares: readonly number[]): string[] {
  const marks = [0, ...shares.map(share => Math.floor(share * text.length)), text.length].sort((a, b) => a - b)
  return marks.slice(1).map((end, at) => text.slice(marks[at], end))
}

const oneLine = fc.string({ unit: 'binary' }).map(text => text.replaceAll(/[\r\n]/g, ' '))
const name = fc.stringMatching(/^[a-z][a-z._]{0,20}$/)
const frame: fc.Arbitrary<SseFrame> = fc.record(
  { data: oneLine.map(text => JSON.stringify(text)), event: name, id: fc.nat().map(String) },
  { requiredKeys: ['data'], noNullPrototype: true },
)
const shares = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 30 })

test('S46: whatever the chunks and line ends, the frames read are the frames written', () => {
  fc.assert(
    fc.property(fc.array(frame), shares, fc.constantFrom('\n', '\r\n', '\r'), (frames, cuts, lineEnd) => {
      const text = frames.map(sseFrame).join('').replaceAll('\n', lineEnd)
      assert.deepEqual(framesOf(cutAt(text, cuts)), frames)
    }),
  )
})

test('S46: any text at all gives the same frames whole, in single characters, or cut anywhere', () => {
  const messy = fc
    .array(
      fc.constantFrom('data', 'event', 'id', 'retry', ':', ' ', '\r', '\n', '\r\n', '\n\n', '7', 'x', '\uFEFF', '\0'),
    )
    .map(parts => parts.join(''))
  fc.assert(
    fc.property(messy, shares, (text, cuts) => {
      const whole = framesOf([text])
      assert.deepEqual(framesOf(text.split('')), whole)
      assert.deepEqual(framesOf(cutAt(text, cuts)), whole)
    }),
  )
})

const table: readonly (readonly [guarantee: string, text: string, expected: readonly SseFrame[]])[] = [
  ['data without a space is read', 'data:{"a":1}\n\n', [{ data: '{"a":1}' }]],
  ['only one space after the colon is dropped', 'data:  two\n\n', [{ data: ' two' }]],
  ['several data lines are joined', 'data: a\ndata: b\n\n', [{ data: 'a\nb' }]],
  ['a leading byte order mark is skipped', '\uFEFFdata: a\n\n', [{ data: 'a' }]],
  ['comments are dropped', ': ping\n\n:\ndata: a\n\n', [{ data: 'a' }]],
  ['a frame without data is dropped, with its name and id', 'event: x\nid: 1\n\ndata: a\n\n', [{ data: 'a' }]],
  ['a line without a colon is a field without a value', 'data\n\n', [{ data: '' }]],
  ['an id with a NUL is ignored', 'id: 1\0\ndata: a\n\n', [{ data: 'a' }]],
  [
    'an id is not carried over to the next frame',
    'id: 1\ndata: a\n\ndata: b\n\n',
    [{ data: 'a', id: '1' }, { data: 'b' }],
  ],
  ['a frame that the end of the stream cuts off is dropped', 'data: a\n\ndata: b\n', [{ data: 'a' }]],
]

for (const [guarantee, text, expected] of table) {
  test(guarantee, () => assert.deepEqual(framesOf([text]), expected))
}

test('an empty chunk between CR and LF does not end a frame early', () => {
  const expected = [{ data: 'a', event: 'x' }]
  assert.deepEqual(framesOf(['event: x\r', '', '\ndata: a\r', '\n\r', '\n']), expected)
})

test('retry lines are reported in milliseconds; those that are no number are not', () => {
  const seen: number[] = []
  framesOf(['retry: 20', '00\n\nretry: soon\nretry: -1\nretry:5\n\n'], { onRetry: ms => seen.push(ms) })
  assert.deepEqual(seen, [2000, 5])
})

test('an endless line and an endless frame are rejected instead of filling the memory', () => {
  assert.throws(() => framesOf(['data: ', 'x'.repeat(10)], { maxLength: 15 }), SseLineTooLong)
  assert.throws(() => framesOf(Array(10).fill('data: xxx\n'), { maxLength: 15 }), SseLineTooLong)
  assert.deepEqual(framesOf(['data: 12345678\n\n'], { maxLength: 15 }), [{ data: '12345678' }])
})
