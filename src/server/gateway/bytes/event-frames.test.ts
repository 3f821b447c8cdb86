import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { FrameSplitter, FrameTail } from './event-frames.ts'

/** Splitter and tail that turn chunks into complete frames. */
function createCutter(maxBytes?: number) {
  const splitter = new FrameSplitter(() => undefined)
  const tail = new FrameTail(maxBytes)
  return { tail, push: (chunk: Buffer) => tail.take(chunk, splitter.push(chunk)) }
}

const lineEnds = ['\n', '\r\n', '\r'] as const

test('R2: the bytes are unchanged, and only complete frames are sent before the end', () => {
  const frames = fc.array(fc.stringMatching(/^(event: x|: odd|data:\{\}|data: a b)$/), { minLength: 1, maxLength: 8 })
  fc.assert(
    fc.property(
      fc.constantFrom(...lineEnds),
      frames,
      fc.array(fc.nat(200), { maxLength: 20 }),
      (lineEnd, parts, places) => {
        const body = Buffer.from(parts.map(part => `${part}${lineEnd}${lineEnd}`).join(''))
        const cuts = [0, ...places.map(place => Math.min(place, body.length)).sort((a, b) => a - b), body.length]
        const cutter = createCutter()
        const out: Buffer[] = []
        for (const [at, end] of cuts.slice(1).entries()) {
          out.push(...cutter.push(body.subarray(cuts[at], end)))
          const text = Buffer.concat(out).toString()
          assert.ok(text === '' || /(\n\n|\r\r|\n\r\n)\r?\n?$/.test(text), JSON.stringify(text))
        }
        out.push(...cutter.tail.release())
        assert.deepEqual(Buffer.concat(out), body)
      },
    ),
    { numRuns: 500 },
  )
})

test('a frame longer than the limit is sent in parts, and isBetweenFrames is false meanwhile', () => {
  const cutter = createCutter(100)
  assert.deepEqual(cutter.push(Buffer.alloc(60, 'x')), [])
  assert.equal(cutter.tail.isBetweenFrames, true)
  assert.equal(Buffer.concat([...cutter.push(Buffer.alloc(60, 'x'))]).length, 120)
  assert.equal(cutter.tail.isBetweenFrames, false)
  assert.deepEqual(cutter.push(Buffer.alloc(10, 'x')), [])
  assert.equal(cutter.tail.isBetweenFrames, false)
  assert.equal(Buffer.concat([...cutter.push(Buffer.from('\n\n'))]).length, 12)
  assert.equal(cutter.tail.isBetweenFrames, true)
})
