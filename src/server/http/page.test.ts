import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { AppError } from '../platform/errors.ts'
import { pageOf } from './page.ts'

/** List of sorted keys, paged like a store does. */
const listOf =
  (keys: readonly string[]) =>
  async ({ after, limit }: { after: string | undefined; limit: number }) =>
    keys.filter(key => after === undefined || key > after).slice(0, limit)

test('following the cursors returns every item once, in order, for any page size', async () => {
  const keys = fc.uniqueArray(fc.string({ minLength: 1, unit: 'grapheme' }), { maxLength: 20 })
  await fc.assert(
    fc.asyncProperty(keys, fc.integer({ min: 1, max: 7 }), async (unsorted, limit) => {
      const sorted = unsorted.toSorted((a, b) => (a < b ? -1 : 1))
      const read: string[] = []
      for (let cursor: string | null | undefined; cursor !== null; ) {
        const query = cursor === undefined ? { limit } : { limit, cursor }
        const page = await pageOf(query, listOf(sorted), key => key)
        assert.ok(page.items.length <= limit)
        read.push(...page.items)
        cursor = page.next_cursor
      }
      assert.deepEqual(read, sorted)
    }),
  )
})

test('the last page has no cursor, even if it is full', async () => {
  const { next_cursor } = await pageOf({ limit: 2 }, listOf(['a', 'b']), key => key)
  assert.equal(next_cursor, null)
})

test('a page has 50 items by default', async () => {
  const keys = Array.from({ length: 60 }, (_, at) => String(at).padStart(2, '0'))
  assert.equal((await pageOf({}, listOf(keys), key => key)).items.length, 50)
})

test('L1: an invalid cursor is rejected, even if it contains NUL', async () => {
  const withNul = Buffer.from('a\0b').toString('base64url')
  for (const cursor of ['', 'a', '%%%', 'YQ==', 'Y Q', 'AA', withNul]) {
    const page = pageOf({ cursor }, listOf(['a']), key => key)
    await assert.rejects(
      page,
      (error: unknown) => error instanceof AppError && error.message === 'invalid cursor',
      cursor,
    )
  }
})
