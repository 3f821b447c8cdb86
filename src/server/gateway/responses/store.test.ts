import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from '../../../../test/support/service/database.ts'
import { responseStore } from './store.ts'

const database = await freshDatabase()
const store = responseStore(database.pool)

/** Inserts a chain of responses of the given sizes in bytes. Returns the id of the last one. */
async function chainOf(principal: string, sizes: readonly number[]): Promise<string> {
  for (const [at, size] of sizes.entries()) {
    const id = `resp_${at}`
    const row = { principal, id, deployment: 'd', previous_id: at === 0 ? null : `resp_${at - 1}`, is_translated: true }
    await store.insert(row, { principal, id, version: 1, sealed: Buffer.alloc(size), key_id: 'k' })
  }
  return `resp_${sizes.length - 1}`
}

test('a chain is returned oldest first, and only to its own principal', async () => {
  const id = await chainOf('a', [1, 2, 3])
  const chain = await store.chain({ principal: 'a', id })
  assert.deepEqual(
    chain.map(({ sealed }) => sealed.length),
    [1, 2, 3],
  )
  assert.deepEqual(await store.chain({ principal: 'b', id }), [])
  assert.deepEqual(await store.chain({ principal: 'a', id: 'resp_9' }), [])
})

test('a chain over 32 MiB is rejected without being read', async () => {
  const megabyte = 1024 * 1024
  const id = await chainOf('c', [20 * megabyte, 13 * megabyte])
  await assert.rejects(store.chain({ principal: 'c', id }), {
    code: 'payload_too_large',
    message: /^previous_response_id: this chain is larger than 32 MB/,
  })
  assert.equal((await store.chain({ principal: 'c', id: 'resp_0' })).length, 1)
})
