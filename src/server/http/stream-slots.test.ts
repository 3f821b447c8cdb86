import assert from 'node:assert/strict'
import { test } from 'node:test'
import { StreamSlots } from './stream-slots.ts'

const holderOf = (id: string) => ({ key: { id, models: [], isLimited: false, isNarrow: false, expires: false } })

test('V2: a key may have at most 200 event streams; other keys and the master key are not affected', () => {
  const slots = new StreamSlots()
  const release = Array.from({ length: 200 }, () => slots.take(holderOf('a')))
  assert.throws(() => slots.take(holderOf('a')), { code: 'rate_limited' })
  slots.take(holderOf('b'))
  for (let at = 0; at < 300; at++) slots.take({ key: undefined })
  release[0]?.()
  slots.take(holderOf('a'))
})
