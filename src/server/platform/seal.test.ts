import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { createKeyring, createSealer, SealError } from './seal.ts'

const bound = ['user-1', 'github', '1']
const oldKey = randomBytes(32)
const newKey = randomBytes(32)
const vault = createSealer(createKeyring([newKey]), 'vault')
const { sealed } = vault.seal('s3cret', bound)

const isRefusal = (reason: SealError['reason']) => (error: unknown) =>
  error instanceof SealError && error.reason === reason

test('S11: what was sealed opens as it was, text and bytes, also nothing', () => {
  assert.equal(vault.open(sealed, bound).toString(), 's3cret')
  const bytes = randomBytes(70_000)
  assert.deepEqual(vault.open(vault.seal(bytes, bound).sealed, bound), bytes)
  assert.equal(vault.open(vault.seal('', []).sealed, []).length, 0)
  assert.equal(vault.open(vault.seal('Grüße 🔑', bound).sealed, bound).toString(), 'Grüße 🔑')
})

test('S11: any flipped bit fails', () => {
  for (let bit = 0; bit < sealed.length * 8; bit++) {
    const flipped = Buffer.from(sealed)
    flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7))
    assert.throws(() => vault.open(flipped, bound), SealError, `bit ${bit}`)
  }
})

test('S11: a value that was cut short or made longer fails', () => {
  for (let length = 0; length < sealed.length; length++) {
    assert.throws(() => vault.open(sealed.subarray(0, length), bound), isRefusal('changed'), `${length} bytes`)
  }
  assert.throws(() => vault.open(Buffer.concat([sealed, Buffer.of(0)]), bound), isRefusal('changed'))
})

test('S11: a value in the place of another row, owner or version fails', () => {
  const elsewhere = [
    ['user-2', 'github', '1'],
    ['user-1', 'gitlab', '1'],
    ['user-1', 'github', '2'],
    ['user-1', 'github'],
    ['user-1', 'github', '1', ''],
    ['user-1github', '', '1'],
    ['user-1', 'github1', ''],
    ['github', 'user-1', '1'],
    [],
  ]
  for (const other of elsewhere) assert.throws(() => vault.open(sealed, other), isRefusal('changed'), `${other}`)
})

test('S11: the same text twice gives different bytes', () => {
  const nonces = Array.from({ length: 1_000 }, () => vault.seal('s3cret', bound).sealed.toString('hex', 5, 17))
  assert.equal(new Set(nonces).size, 1_000)
})

test('S12: what one purpose has sealed opens for no other', () => {
  const ring = createKeyring([newKey])
  const purposes = ['vault', 'service secret', 'provider credential', 'deployment', 'idempotent answer', '']
  const sealers = purposes.map(purpose => createSealer(ring, purpose))
  const values = sealers.map(sealer => sealer.seal('s3cret', bound).sealed)
  for (const [i, sealer] of sealers.entries()) {
    for (const [j, value] of values.entries()) {
      if (i === j) assert.equal(sealer.open(value, bound).toString(), 's3cret')
      else assert.throws(() => sealer.open(value, bound), isRefusal('changed'), `${purposes[j]} as ${purposes[i]}`)
    }
  }
  assert.throws(() => createSealer(ring, 'a').open(createSealer(ring, 'ab').seal('x', ['c']).sealed, ['bc']), SealError)
})

test('S13: the first key seals and all open; a key that is not in the ring is named as the reason', () => {
  const old = createSealer(createKeyring([oldKey]), 'vault')
  const both = createSealer(createKeyring([newKey, oldKey]), 'vault')
  assert.equal(both.open(old.seal('before', bound).sealed, bound).toString(), 'before')
  assert.equal(vault.open(both.seal('after', bound).sealed, bound).toString(), 'after')
  assert.throws(() => old.open(sealed, bound), isRefusal('unknown_key'))
  assert.throws(() => vault.open(old.seal('before', bound).sealed, bound), isRefusal('unknown_key'))
})

test('the id of a key is the same everywhere, and part of what was sealed', () => {
  const ring = createKeyring([newKey, oldKey, newKey])
  assert.deepEqual(ring.ids, [createKeyring([newKey]).currentId, createKeyring([oldKey]).currentId])
  assert.equal(vault.seal('x', []).key_id, ring.currentId)
  assert.match(ring.currentId, /^[0-9a-f]{8}$/)
  assert.equal(sealed.toString('hex', 1, 5), ring.currentId)
  assert.equal(newKey.includes(Buffer.from(ring.currentId, 'hex')), false)
})

test('S12: no sub-key is another one or the key itself', () => {
  const ring = createKeyring([newKey, oldKey])
  const all = ring.ids.flatMap(id => ['vault', 'reasoning seal', 'key id'].map(purpose => ring.derive(id, purpose)))
  const texts = [...all.map(key => key?.toString('hex')), newKey.toString('hex'), oldKey.toString('hex')]
  assert.equal(new Set(texts).size, 8)
  assert.equal(ring.derive('00000000', 'vault'), undefined)
})
