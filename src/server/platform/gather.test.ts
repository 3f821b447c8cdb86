import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gathered } from './gather.ts'

/** Lookups that resolve on demand; `asked` lists the names of each query. */
function slowStore() {
  const asked: (readonly string[])[] = []
  let answer = Promise.withResolvers<void>()
  const load = async (names: readonly string[]) => {
    asked.push(names)
    await answer.promise
    return names.map(name => (name === 'none' ? undefined : name.toUpperCase()))
  }
  const next = () => {
    answer.resolve()
    answer = Promise.withResolvers()
  }
  return { asked, load, next }
}

const settled = () => new Promise(setImmediate)

test('the first name is loaded at once, and names that arrive meanwhile share the next query', async () => {
  const { asked, load, next } = slowStore()
  const find = gathered(load)
  const found = [find('a'), find('b'), find('none')]
  assert.deepEqual(asked, [['a']])
  next()
  await settled()
  assert.deepEqual(asked, [['a'], ['b', 'none']])
  next()
  assert.deepEqual(await Promise.all(found), ['A', 'B', undefined])
  void find('c')
  assert.deepEqual(asked.at(-1), ['c'])
})

test('a query has at most maxNames names, and the rest uses the next query', async () => {
  const asked: number[] = []
  const find = gathered(
    async (names: readonly number[]) => {
      asked.push(names.length)
      return names.map(name => name + 1)
    },
    { maxNames: 10 },
  )
  const found = await Promise.all(Array.from({ length: 25 }, (_, at) => find(at)))
  assert.deepEqual(
    found,
    Array.from({ length: 25 }, (_, at) => at + 1),
  )
  assert.deepEqual(asked, [1, 10, 10, 4])
})

test('a failed query rejects only its own names', async () => {
  let failures = 1
  const find = gathered(async (names: readonly string[]) => {
    if (failures-- > 0) throw new Error('away')
    return names
  })
  const first = find('a')
  const second = find('b')
  await assert.rejects(first, /away/)
  assert.equal(await second, 'b')
})
