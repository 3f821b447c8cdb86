import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mergedDegradedHeader } from './degradations.ts'

const found = [{ path: 'seed', action: 'dropped' }]
const many = Array.from({ length: 19 }, (_, at) => `p${at}=dropped`).join(', ')

const table = [
  ['nothing anywhere', [], undefined, undefined],
  ['only the upstream’s', [], 'top_k=dropped, +3', 'top_k=dropped, +3'],
  ['only ours', found, undefined, 'seed=dropped'],
  ['ours first', found, 'top_k=dropped', 'seed=dropped, top_k=dropped'],
  ['those left out are counted together', found, `${many}, p19=dropped, +2`, `seed=dropped, ${many}, +3`],
  ['a count stays', found, 'top_k=dropped, +2', 'seed=dropped, top_k=dropped, +2'],
] as const

for (const [guarantee, ours, inner, expected] of table) {
  test(`x-switchyard-degraded of two conversions: ${guarantee}`, () => {
    assert.equal(mergedDegradedHeader(ours, inner), expected)
  })
}
