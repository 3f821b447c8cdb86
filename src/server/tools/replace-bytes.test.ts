import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { replaceBytes } from './replace-bytes.ts'

interface Edit {
  readonly text: string
  readonly from: string
  readonly to: string
}

function replaced({ text, from, to }: Edit, check: (places: number, bytes: number) => void = () => undefined) {
  const work = replaceBytes({ bytes: Buffer.from(text), from: Buffer.from(from), to: Buffer.from(to), check })
  let pieces = 1
  for (let step = work.next(); ; step = work.next(), pieces++) if (step.done) return { result: step.value, pieces }
}

test('every match is replaced, like by splitting and joining', () => {
  const few = fc.string({ unit: fc.constantFrom('a', 'b', 'é', '\u{1f600}'), maxLength: 60 })
  const wanted = fc.string({ unit: fc.constantFrom('a', 'b', 'é'), minLength: 1, maxLength: 4 })
  fc.assert(
    fc.property(few, wanted, few, (text, from, to) => {
      const places: number[] = []
      const { result } = replaced({ text, from, to }, count => places.push(count))
      assert.equal(result.toString(), text.split(from).join(to))
      assert.deepEqual(places, [text.split(from).length - 1])
    }),
  )
})

test('H7: the size of the result is checked before the result is built', () => {
  const text = 'a'.repeat(1_000_000)
  const refuse = (places: number, bytes: number) => {
    throw new Error(`${places} places, ${bytes} bytes`)
  }
  assert.throws(
    () => replaced({ text, from: 'a', to: 'b'.repeat(50_000) }, refuse),
    /1000000 places, 50000000000 bytes/,
  )
})

test('H7: a text that nearly matches everywhere is searched in linear time, in slices', () => {
  const text = 'a'.repeat(2_000_000)
  const { result, pieces } = replaced({ text, from: `b${'a'.repeat(500_000)}`, to: '' })
  assert.equal(result.length, text.length)
  assert.ok(pieces > 60, `${pieces} pieces`)
})
