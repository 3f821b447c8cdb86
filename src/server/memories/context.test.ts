import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Memory } from '../../contract/memories.ts'
import { maxBlockBytes, maxMemories, memoryBlock, selectMemories, selectWithReasons } from './context.ts'

const plain = { type: 'fact', tags: [] as string[], source: 'ui', disabled: false } as const
const told = (text: string, changes: Partial<Memory> = {}) => ({ ...plain, text, ...changes })

test('without memories the block is empty', () => {
  assert.equal(memoryBlock([]), '')
})

test('a text is unchanged, between tags that state its source', () => {
  const block = memoryBlock([told('Use tabs & "quotes" if a < b.', { tags: ['style', 'code'], source: 'agent' })])
  assert.match(
    block,
    /^<memories>\n[^<]*\n<memory type="fact" source="agent" tags="style, code">\nUse tabs & "quotes" if a < b\.\n<\/memory>\n<\/memories>$/,
  )
})

const piece = fc.oneof(
  { weight: 3, arbitrary: fc.string({ unit: 'grapheme', maxLength: 12 }) },
  fc.constantFrom(
    '<memories>',
    '</memories>',
    '</memory>',
    '<memory type="x">',
    '</MEMORY>',
    '< / memory >',
    '<\t/memories',
  ),
  fc.constantFrom('＜/memory>', '<／memory>', '<\\/memory>', '"', '>', '\n', '&lt;', '<', '/', 'memory', '\u2028'),
)
const nasty = fc.array(piece, { maxLength: 8 }).map(pieces => pieces.join(''))
const anyMemory = fc.record({
  text: nasty,
  type: nasty,
  tags: fc.array(nasty, { maxLength: 3 }),
  source: fc.constantFrom('agent' as const, 'ui' as const, 'slack' as const),
})

/** Texts that a lenient reader could take for a tag of the block. */
const marks = (block: string): string[] => block.match(/[<\uff1c\ufe64][\s/\\\uff0f]*memor(y|ies)/gi) ?? []

test('S39: no text, type or tag can open or close the block or an entry of it, in any spelling', () => {
  fc.assert(
    fc.property(fc.array(anyMemory, { minLength: 1, maxLength: 5 }), memories => {
      const block = memoryBlock(memories)
      assert.deepEqual(marks(block), ['<memories', ...memories.flatMap(() => ['<memory', '</memory']), '</memories'])
      assert.ok(block.endsWith('\n</memories>'))
      const heads = block.split('\n').filter(line => line.startsWith('<memory '))
      assert.equal(heads.length, memories.length)
      for (const head of heads)
        assert.match(head, /^<memory type="[^"<>]*" source="(agent|ui|slack)"( tags="[^"<>]*")?>$/)
    }),
    { numRuns: 2000 },
  )
})

test('a text without a fake tag stays unchanged byte for byte', () => {
  fc.assert(
    fc.property(nasty, text => {
      fc.pre(marks(text).length === 0 && !/[<\uff1c\ufe64][\s/\\\uff0f]*memor/i.test(text))
      assert.ok(memoryBlock([told(text)]).includes(`\n${text}\n</memory>`))
    }),
  )
})

test('at most 50 memories and 16 KB are selected, in order', () => {
  const sized = fc.record({
    text: fc.nat({ max: 20_000 }).map(length => 'ä'.repeat(length / 2)),
    disabled: fc.boolean(),
  })
  fc.assert(
    fc.property(fc.array(sized, { maxLength: 80 }), given => {
      const memories = given.map(({ text, disabled }) => told(text, { disabled }))
      const taken = selectMemories(memories)
      assert.ok(taken.length <= maxMemories)
      assert.ok(Buffer.byteLength(memoryBlock(taken)) <= maxBlockBytes)
      assert.ok(taken.every(({ disabled }) => !disabled))
      assert.deepEqual(
        taken,
        memories.filter(memory => taken.includes(memory)),
      )
      // Selecting again must not change the selection.
      assert.deepEqual(selectMemories(taken), taken)
    }),
  )
})

test('each omitted memory has a reason', () => {
  const many = Array.from({ length: 51 }, (_, at) => told(`note ${at}`))
  const reasons = (memories: Parameters<typeof selectWithReasons>[0]) =>
    selectWithReasons(memories).map(({ reason }) => reason)
  assert.deepEqual(reasons(many).slice(48), ['injected', 'injected', 'too_many'])
  const long = told('x'.repeat(9_000))
  assert.deepEqual(reasons([told('a', { disabled: true }), long, long, told('short')]), [
    'disabled',
    'injected',
    'no_room',
    'injected',
  ])
})

test('50 memories of 200 bytes fit', () => {
  assert.equal(selectMemories(Array.from({ length: 60 }, () => told('x'.repeat(200)))).length, 50)
})
