import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { SseBlockTooLong, sseBlocks } from './sse-blocks.ts'

const stream = ': hi\n\nid: 1\ndata: a\ndata:b\n\nevent: x\r\ndata: c\r\n\r\nretry: 5\n\ndata: d\rdata: e\r\rdata: rest'

test('events keep their exact text wherever the stream is cut', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 60 }), sizes => {
      const blocks = sseBlocks(1_000)
      const found: { raw: string; data: string; hasId: boolean }[] = []
      for (let at = 0, turn = 0; at < stream.length; turn++) {
        const size = sizes[turn % sizes.length] ?? 1
        found.push(...blocks.read(stream.slice(at, at + size)))
        at += size
      }
      assert.equal(found.map(({ raw }) => raw).join('') + blocks.rest(), stream)
      const data = found.map(each => each.data).filter(each => each !== '')
      assert.deepEqual(data, ['a\nb', 'c', 'd\ne'])
      assert.ok(found.some(({ raw, data }) => /^\n?event: x\r\n/.test(raw) && data === 'c'))
      assert.equal(found.filter(({ hasId }) => hasId).length, 1)
    }),
  )
})

test('an event above the limit is an error', () => {
  const blocks = sseBlocks(10)
  assert.throws(() => [...blocks.read('data: 0123456789')], SseBlockTooLong)
})
