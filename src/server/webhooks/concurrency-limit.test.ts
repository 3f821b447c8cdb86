import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createConcurrencyLimit } from './concurrency-limit.ts'

test('at most the given number of works run at a time, in order, and a failed work frees its slot', async () => {
  const limited = createConcurrencyLimit(3)
  let running = 0
  let most = 0
  const begun: number[] = []
  const works = Array.from({ length: 50 }, (_, at) =>
    limited(async () => {
      begun.push(at)
      most = Math.max(most, ++running)
      await new Promise(resolve => setImmediate(resolve))
      running--
      if (at % 7 === 0) throw new Error('failed')
      return at
    }),
  )
  const results = await Promise.allSettled(works)
  assert.equal(most, 3)
  assert.deepEqual(begun, [...begun.keys()])
  assert.equal(results.filter(({ status }) => status === 'rejected').length, 8)
  assert.equal(await limited(async () => 'later'), 'later')
})
