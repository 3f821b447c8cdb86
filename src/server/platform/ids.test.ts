import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newId } from './ids.ts'

const ids = Array.from({ length: 5_000 }, () => newId('req'))

test('an id is its prefix and a UUID of version 7 that holds the time of its making', () => {
  const before = Date.now()
  const id = newId('use')
  assert.match(id, /^use_[0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15}$/)
  const madeAt = Number.parseInt(id.slice(4, 16), 16)
  assert.ok(Math.abs(madeAt - before) < 1_000)
})

test('no two ids are the same, also beyond one draw of random bytes, nor are their random parts', () => {
  assert.equal(new Set(ids).size, ids.length)
  assert.equal(new Set(ids.map(id => id.slice(20))).size, ids.length)
})

test('ids follow the order in which they were made', () => {
  const times = ids.map(id => id.slice(4, 20))
  assert.deepEqual(times, times.toSorted())
})
