import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { freshDatabase } from '../../../../test/support/service/database.ts'
import { responseStore } from '../responses/store.ts'
import { type Claim, type EventRow, placeOf } from './rows.ts'
import { type BackgroundStore, backgroundStore } from './store.ts'

const { pool } = await freshDatabase()
const store = backgroundStore(pool)
const value = { version: 1, sealed: Buffer.from('x'), key_id: 'k' }

const eventsOf = (id: string, first: number, last: number, sealed = value.sealed): EventRow => ({
  ...value,
  principal: 'ana',
  id,
  place: placeOf(first),
  last_event: last,
  sealed,
})

async function queued(apiKeyId: string, maxQueued = 100): Promise<string | undefined> {
  const id = `resp_${randomUUID()}`
  const name = { principal: 'ana', id }
  const row = { ...name, apiKeyId, previousId: null, isStream: true, request: { ...name, ...value } }
  return (await store.create({ ...row, events: eventsOf(id, 0, 1) }, maxQueued)) ? id : undefined
}

async function claimed(owner = 'one'): Promise<Claim> {
  return (await store.claim(owner, [])) ?? assert.fail('there is one to claim')
}

const endOf = (claim: Claim): Parameters<BackgroundStore['end']>[1] => ({
  status: 'completed',
  nextEvent: 3,
  events: eventsOf(claim.id, 2, 2),
  deployment: 'd',
  upstreamId: null,
  content: { ...value, principal: 'ana', id: claim.id },
})
const expire = () => pool.query(`update background_responses set lease_until = clock_timestamp() - interval '1 second'`)

test('a response is claimed once until its claim expires, and late writes of the former owner are rejected', async () => {
  const id = await queued('key_fence')
  const first = await claimed()
  assert.deepEqual([first.id, first.fence, first.starts, first.next_event], [id, 1, 1, 2])
  assert.equal(await store.claim('two', []), undefined)
  assert.deepEqual(await store.renew('one', [first]), [id])
  assert.deepEqual(await store.renew('two', [first]), [])
  await expire()
  const second = await claimed('two')
  assert.deepEqual([second.id, second.fence, second.starts], [id, 2, 2])
  assert.deepEqual(await store.renew('one', [first]), [])
  assert.equal(await store.append(first, eventsOf(first.id, 2, 2), 3), false)
  assert.equal(await store.end(first, endOf(first)), false)
  assert.equal(await store.append(second, eventsOf(second.id, 2, 4), 5), true)
  assert.equal(await store.append(second, eventsOf(second.id, 2, 4), 5), true, 'a repeated write changes nothing')
  assert.equal(await store.end(second, { ...endOf(second), nextEvent: 6, events: eventsOf(second.id, 5, 5) }), true)
  assert.equal(await store.end(second, endOf(second)), false)
  assert.deepEqual(await store.find(second), { status: 'completed', is_stream: true, next_event: 6 })
  assert.equal(await store.request(second), undefined)
  assert.equal((await responseStore(pool).find(second))?.background_status, 'completed')
})

test('queued responses of a key are limited exactly, also when they are created at the same time', async () => {
  const made = await Promise.all(Array.from({ length: 8 }, () => queued('key_limit', 3)))
  assert.equal(made.filter(id => id !== undefined).length, 3)
  assert.notEqual(await queued('key_other', 3), undefined)
  await pool.query('delete from responses')
})

test('the oldest response of a key that is not busy is claimed first; one that is put back waits', async () => {
  const [one, two] = [await queued('key_a'), await queued('key_b')]
  const other = await store.claim('one', ['key_a'])
  assert.equal(other?.id, two)
  const first = await claimed()
  assert.equal(first.id, one)
  await store.putBack(first, 60_000)
  assert.equal(await store.claim('one', []), undefined)
  await pool.query('update background_responses set due_at = clock_timestamp() where id = $1', [one])
  assert.deepEqual([(await claimed()).starts, first.starts], [1, 1])
  await pool.query('delete from responses')
})

test('a cancelled response is no longer written by its run, and any process ends it', async () => {
  const id = (await queued('key_c')) ?? ''
  const run = await claimed()
  const name = { principal: 'ana', id }
  assert.equal(await store.cancel({ principal: 'bo', id }), undefined)
  const cancelling = (await store.cancel(name)) ?? assert.fail()
  assert.equal(await store.append(run, eventsOf(id, 2, 2), 3), false)
  assert.equal(await store.claim('two', []), undefined, 'the request that cancels it ends it')
  await expire()
  const ending = await claimed('two')
  assert.deepEqual([ending.id, ending.is_cancelled], [id, true])
  assert.equal(await store.end(cancelling, endOf(cancelling)), false)
  assert.equal(await store.end(ending, { ...endOf(ending), status: 'cancelled' }), true)
  assert.equal(await store.cancel(name), undefined)

  await queued('key_d')
  const stopped = await claimed()
  await store.cancelAll({ principal: undefined, keys: ['key_d'] })
  assert.equal(await store.append(stopped, undefined, 2), false)
  assert.deepEqual([(await claimed('two')).is_cancelled, await store.claim('two', [])], [true, undefined])
  await pool.query('delete from responses')
})

test('a page begins with the row that has the event, and is bounded', async () => {
  const id = (await queued('key_e')) ?? ''
  const claim = await claimed()
  const large = Buffer.alloc(200 * 1024)
  for (let first = 2; first < 12; first += 2)
    await store.append(claim, eventsOf(id, first, first + 1, large), first + 2)
  const placesFrom = async (from: number) => (await store.page(claim, from))?.rows.map(({ place }) => Number(place))
  assert.deepEqual(await placesFrom(0), [0, 2, 4])
  assert.deepEqual(await placesFrom(5), [4, 6])
  assert.deepEqual(await placesFrom(11), [10])
  assert.deepEqual(await placesFrom(12), [])
  assert.equal(await store.page({ principal: 'bo', id }, 0), undefined)
})
