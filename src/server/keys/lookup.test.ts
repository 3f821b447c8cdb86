import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLog } from '../platform/log.ts'
import { hashOf, newKey } from './format.ts'
import type { KeyGrant } from './grant-store.ts'
import { createKeyLookup } from './lookup.ts'

const pepper = Buffer.alloc(32, 9)
const grant = (id: string, changes: Partial<KeyGrant> = {}): KeyGrant => ({
  id,
  ancestors: [],
  owner_id: null,
  role: 'user',
  user_id: null,
  is_sign_in: false,
  user_owner_id: null,
  team_models: null,
  models: [],
  passthrough: [],
  mcp_servers: null,
  mcp_tools: null,
  cache: null,
  log_bodies: null,
  is_limited: false,
  is_narrow: false,
  expires: false,
  rest_ms: null,
  ...changes,
})

/** Lookup over keys that the test creates and revokes. */
function createRig() {
  const byHash = new Map<string, KeyGrant>()
  const rig = { queries: 0, isUnreachable: false, used: [] as string[], nowMs: 0 }
  const listeners = new Map<string, (payload: string) => void>()
  let reconnected = () => {}
  const answer = async <T>(found: T): Promise<T> => {
    rig.queries++
    if (rig.isUnreachable) throw new Error('unreachable')
    return found
  }
  const lookup = createKeyLookup({
    store: {
      grantsOfHashes: hashes => answer(hashes.map(hash => byHash.get(hash.toString('hex')))),
      grantOfId: id => answer([...byHash.values()].find(found => found.id === id)),
      valid: async ids =>
        [...byHash.values()]
          .filter(({ id }) => ids.includes(id))
          .map(({ id, owner_id, role }) => ({ id, owner_id, role })),
      markUsed: async ids => void rig.used.push(...ids),
    },
    pepper,
    notifications: {
      on: (channel, listener) => void listeners.set(channel, listener),
      onReconnect: listener => {
        reconnected = listener
      },
    },
    log: createLog('silent'),
    nowMs: () => rig.nowMs,
  })
  const give = (found: KeyGrant): string => {
    const key = newKey()
    byHash.set(hashOf(key, pepper).toString('hex'), found)
    return key
  }
  const revoke = (key: string) => void byHash.delete(hashOf(key, pepper).toString('hex'))
  const announce = (id: string) => listeners.get('switchyard_keys')?.(id)
  return Object.assign(rig, { lookup, give, revoke, announce, reconnect: () => reconnected() })
}

test('the principal of a key with an owner is that owner; without an owner it is the key itself', async () => {
  const { lookup, give } = createRig()
  const models = ['sonnet']
  const owned = give(grant('key_1', { owner_id: 'ada', models, is_limited: true, is_narrow: true, role: 'admin' }))
  assert.deepEqual(await lookup.find(owned), {
    principal: 'ada',
    role: 'admin',
    ownerScope: 'ada',
    key: { id: 'key_1', models, isLimited: true, isNarrow: true, expires: false },
  })
  assert.deepEqual(await lookup.find(give(grant('key_2'))), {
    principal: 'key_2',
    role: 'user',
    ownerScope: undefined,
    key: { id: 'key_2', models: [], isLimited: false, isNarrow: false, expires: false },
  })
})

test('S03: malformed keys cost no query, and an unknown one costs one', async () => {
  const rig = createRig()
  for (const text of ['', 'sk-', 'sk-test-wrong-key-0123456789abcdef', "' or 1=1 --", `${newKey()}x`])
    assert.equal(await rig.lookup.find(text), undefined)
  assert.equal(rig.queries, 0)
  const unknown = newKey()
  for (let at = 0; at < 3; at++) assert.equal(await rig.lookup.find(unknown), undefined)
  assert.equal(rig.queries, 1)
})

test('S03: a revoked key is rejected as soon as the notification arrives, for calls and for queued work', async () => {
  const rig = createRig()
  const key = rig.give(grant('key_1'))
  assert.ok(await rig.lookup.find(key))
  assert.ok(await rig.lookup.byId('key_1'))
  rig.revoke(key)
  assert.ok(await rig.lookup.find(key), 'still remembered')
  rig.announce('key_1')
  assert.equal(await rig.lookup.find(key), undefined)
  assert.equal(await rig.lookup.byId('key_1'), undefined)
})

test('S03: without a notification a revoked key is rejected after 5 s', async () => {
  const rig = createRig()
  const key = rig.give(grant('key_1'))
  await rig.lookup.find(key)
  rig.revoke(key)
  rig.nowMs = 4_999
  assert.ok(await rig.lookup.find(key))
  rig.nowMs = 5_000
  assert.equal(await rig.lookup.find(key), undefined)
})

test('the cache is cleared after a reconnect, since notifications may have been lost', async () => {
  const rig = createRig()
  const key = rig.give(grant('key_1'))
  await rig.lookup.find(key)
  rig.revoke(key)
  rig.reconnect()
  assert.equal(await rig.lookup.find(key), undefined)
})

test('B6: a key is rejected from its expiry time on, even while it is cached', async () => {
  const rig = createRig()
  const key = rig.give(grant('key_1', { rest_ms: 1_000 }))
  assert.ok(await rig.lookup.find(key))
  rig.nowMs = 1_000
  assert.equal(await rig.lookup.find(key), undefined)
  assert.equal(rig.queries, 1)
})

test('while the database is unreachable cached keys work for 5 s; lookups of others fail and do not reject the key', async () => {
  const rig = createRig()
  const key = rig.give(grant('key_1'))
  await rig.lookup.find(key)
  rig.isUnreachable = true
  rig.nowMs = 4_000
  assert.ok(await rig.lookup.find(key))
  await assert.rejects(async () => rig.lookup.find(newKey()), /unreachable/)
  rig.nowMs = 5_000
  await assert.rejects(async () => rig.lookup.find(key), /unreachable/)
  assert.equal(await rig.lookup.find('sk-malformed'), undefined)
  rig.isUnreachable = false
  assert.ok(await rig.lookup.find(key))
})

test('many uses of a key are recorded once', async () => {
  const rig = createRig()
  const key = rig.give(grant('key_1'))
  for (let at = 0; at < 100; at++) await rig.lookup.find(key)
  await rig.lookup.find(newKey())
  await rig.lookup.stop()
  assert.deepEqual(rig.used, ['key_1'])
})

test('work under a key is aborted when the key is revoked or changes its owner', async () => {
  const rig = createRig()
  const keys = [
    rig.give(grant('key_1')),
    rig.give(grant('key_2')),
    rig.give(grant('key_3', { owner_id: 'ada' })),
  ] as const
  const holders = await Promise.all(keys.map(key => rig.lookup.find(key)))
  const watched = holders.flatMap(holder => (holder ? [rig.lookup.watch(holder)] : []))
  const ended = () => watched.map(({ signal }) => signal.aborted)
  rig.revoke(keys[0])
  rig.announce('key_1')
  rig.announce('key_2')
  await new Promise(setImmediate)
  assert.deepEqual(ended(), [true, false, false])
  rig.revoke(keys[2])
  rig.give(grant('key_3', { owner_id: 'bob' }))
  // The notification was lost: the next poll finds the revocation.
  rig.reconnect()
  await new Promise(setImmediate)
  assert.deepEqual(ended(), [true, false, true])
  for (const { close } of watched) close()
  await rig.lookup.stop()
})
