import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { align } from './align.ts'

const shown = (a: string, b: string) =>
  align([...a], [...b])
    .map(pair => `${a[pair.a ?? -1] ?? '-'}${b[pair.b ?? -1] ?? '-'}`)
    .join(' ')

test('Equal prompts stand side by side', () => assert.equal(shown('abc', 'abc'), 'aa bb cc'))
test('A prompt that only one session has stands alone', () => assert.equal(shown('abc', 'ac'), 'aa b- cc'))
test('Different prompts between equal ones are paired in their order', () =>
  assert.equal(shown('axyb', 'azb'), 'aa xz y- bb'))
test('Sessions without a common prompt are paired in their order', () => assert.equal(shown('ab', 'xyz'), 'ax by -z'))
test('An empty session has no counterparts', () => assert.equal(shown('', 'ab'), '-a -b'))

test('Each prompt of both sessions is in exactly one pair, in its order', () => {
  const prompts = fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 12 })
  fc.assert(
    fc.property(prompts, prompts, (a, b) => {
      const pairs = align(a, b)
      assert.deepEqual(
        pairs.flatMap(pair => pair.a ?? []),
        a.map((_, at) => at),
      )
      assert.deepEqual(
        pairs.flatMap(pair => pair.b ?? []),
        b.map((_, at) => at),
      )
    }),
  )
})
