import assert from 'node:assert/strict'
import { test } from 'node:test'
import { coversModel } from '../../contract/keys.ts'
import { modelsWithin } from './models-within.ts'

const table = [
  ['without a rule of the team, the models of the key', ['a'], [], ['a']],
  ['without a list of the key, the models of the team', [], ['a', 'x/*'], ['a', 'x/*']],
  ['names that the team allows', ['a', 'b'], ['b', 'c'], ['b']],
  ['the narrower of two patterns, in either order', ['x/*', 'y/one'], ['x/big', 'y/*'], ['y/one', 'x/big']],
] as const

for (const [guarantee, key, team, expected] of table)
  test(`a key may call ${guarantee}`, () => assert.deepEqual(modelsWithin(key, team), expected))

test('lists without a common model allow no model', () => {
  const none = modelsWithin(['a'], ['b'])
  for (const name of ['a', 'b', 'x/a']) assert.equal(coversModel(none, name), false)
})
