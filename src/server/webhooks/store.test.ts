import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { beforeEach, test } from 'node:test'
import { freshDatabase } from '../../../test/support/service/database.ts'
import { createRowCipher } from '../db/encrypted-rows.ts'
import { createKeyring, type Keyring } from '../platform/encryption.ts'
import { createLog } from '../platform/log.ts'
import { createReencryption } from '../secrets/reencryption.ts'
import { secretStore } from '../secrets/store.ts'
import type { NewDelivery } from './claim-store.ts'
import { deliveryStore } from './store.ts'

const { pool, db } = await freshDatabase()
const store = deliveryStore({ pool, db })
const secrets = secretStore(pool)
const [oldKey, newKey] = [randomBytes(32), randomBytes(32)]
const oldRing = createKeyring([oldKey])
const newRing = createKeyring([newKey])
const bothRing = createKeyring([newKey, oldKey])

beforeEach(async () => {
  await pool.query('delete from webhook_deliveries')
})

interface Sent {
  readonly ring?: Keyring
  readonly version?: number
  readonly id?: string
}

/** Claims a delivery with this payload (null: too long to store). Returns the id of its row. */
async function claim(delivery_id: string, text: string | null, { ring = oldRing, version = 1, id }: Sent = {}) {
  const bound = { agent_id: 'a', delivery_id, version }
  const payload = text === null ? null : { version, ...createRowCipher(ring, 'webhook_payloads').encrypt(text, bound) }
  const row: NewDelivery = {
    agent_id: 'a',
    delivery_id,
    id: id ?? `line-${delivery_id}`,
    owner_id: '',
    kind: 'webhook',
    replay_of: null,
    claim: `claim ${version}`,
    event: null,
    headers: {},
    payload_bytes: text?.length ?? 0,
    payload,
    signed_digest: null,
  }
  const claimed = await store.claim(row, undefined)
  assert.equal(claimed.got, 'ours')
  return claimed.id
}

async function keptText(id: string, ring: Keyring): Promise<string | undefined> {
  const { payload } = (await store.find(id, undefined)) ?? assert.fail(`no delivery ${id}`)
  return payload && createRowCipher(ring, 'webhook_payloads').decrypt(payload).toString()
}

const fail = (delivery_id: string, version: number) =>
  store.finish({ agent_id: 'a', delivery_id, claim: `claim ${version}` }, { status: 'failed', error: 'x' })

test('C7: stored payloads are re-encrypted in batches, and the new key alone decrypts them', async () => {
  for (let at = 0; at < 20; at++) await claim(`d${at}`, `payload ${at}`)
  const limits: number[] = []
  const watched = {
    ...secrets,
    reencryptBatch: ((table, batch) => {
      if (table === 'webhook_payloads') limits.push(batch.limit)
      return secrets.reencryptBatch(table, batch)
    }) as typeof secrets.reencryptBatch,
  }
  const reencryption = createReencryption({ store: watched, keyring: bothRing, log: createLog('silent'), pauseMs: 0 })
  assert.deepEqual(await reencryption.run(new AbortController().signal), { reencrypted: 20, unreadable: 0 })
  assert.deepEqual(limits, [8, 8, 8, 8])
  assert.deepEqual(await secrets.keyUse(), [{ table: 'webhook_payloads', key_id: newRing.currentId, rows: 20 }])
  for (let at = 0; at < 20; at++) assert.equal(await keptText(`line-d${at}`, newRing), `payload ${at}`)
})

test('C7: a delivery that is sent again replaces its payload, or drops it when the new one is too long to store', async () => {
  const id = await claim('again', 'first')
  await fail('again', 1)
  assert.equal(await claim('again', 'second', { ring: newRing, version: 2 }), id)
  assert.equal(await keptText(id, newRing), 'second')
  await fail('again', 2)
  await claim('again', null, { version: 3 })
  assert.equal(await keptText(id, newRing), undefined)
  await fail('again', 3)
  await claim('again', 'fourth', { version: 4 })
  assert.equal(await keptText(id, oldRing), 'fourth')
})

test('C7: a payload is deleted when its key is forgotten, and its delivery stays', async () => {
  const id = await claim('lost', 'payload')
  await secrets.forget(oldRing.currentId, async () => undefined)
  assert.equal(await keptText(id, oldRing), undefined)
})
