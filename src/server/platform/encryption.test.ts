import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { createKeyring, createValueCipher, DecryptionError } from './encryption.ts'

const bound = ['user-1', 'github', '1']
const oldKey = randomBytes(32)
const newKey = randomBytes(32)
const vault = createValueCipher(createKeyring([newKey]), 'vault')
const { sealed } = vault.encrypt('s3cret', bound)

const isDecryptionError = (reason: DecryptionError['reason']) => (error: unknown) =>
  error instanceof DecryptionError && error.reason === reason

test('S11: text, bytes and an empty value are decrypted to what was encrypted', () => {
  assert.equal(vault.decrypt(sealed, bound).toString(), 's3cret')
  const bytes = randomBytes(70_000)
  assert.deepEqual(vault.decrypt(vault.encrypt(bytes, bound).sealed, bound), bytes)
  assert.equal(vault.decrypt(vault.encrypt('', []).sealed, []).length, 0)
  assert.equal(vault.decrypt(vault.encrypt('Grüße 🔑', bound).sealed, bound).toString(), 'Grüße 🔑')
})

test('S11: a value with any flipped bit cannot be decrypted', () => {
  for (let bit = 0; bit < sealed.length * 8; bit++) {
    const flipped = Buffer.from(sealed)
    flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7))
    assert.throws(() => vault.decrypt(flipped, bound), DecryptionError, `bit ${bit}`)
  }
})

test('S11: a truncated or extended value cannot be decrypted', () => {
  for (let length = 0; length < sealed.length; length++) {
    assert.throws(
      () => vault.decrypt(sealed.subarray(0, length), bound),
      isDecryptionError('changed'),
      `${length} bytes`,
    )
  }
  assert.throws(() => vault.decrypt(Buffer.concat([sealed, Buffer.of(0)]), bound), isDecryptionError('changed'))
})

test('S11: a value cannot be decrypted in another row, owner or version', () => {
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
  for (const other of elsewhere)
    assert.throws(() => vault.decrypt(sealed, other), isDecryptionError('changed'), `${other}`)
})

test('S11: the same text encrypted twice gives different bytes', () => {
  const nonces = Array.from({ length: 1_000 }, () => vault.encrypt('s3cret', bound).sealed.toString('hex', 5, 17))
  assert.equal(new Set(nonces).size, 1_000)
})

test('S12: a value of one purpose cannot be decrypted for another', () => {
  const ring = createKeyring([newKey])
  const purposes = ['vault', 'service secret', 'provider credential', 'deployment', 'idempotent answer', '']
  const ciphers = purposes.map(purpose => createValueCipher(ring, purpose))
  const values = ciphers.map(cipher => cipher.encrypt('s3cret', bound).sealed)
  for (const [i, cipher] of ciphers.entries()) {
    for (const [j, value] of values.entries()) {
      if (i === j) assert.equal(cipher.decrypt(value, bound).toString(), 's3cret')
      else
        assert.throws(
          () => cipher.decrypt(value, bound),
          isDecryptionError('changed'),
          `${purposes[j]} as ${purposes[i]}`,
        )
    }
  }
  assert.throws(
    () => createValueCipher(ring, 'a').decrypt(createValueCipher(ring, 'ab').encrypt('x', ['c']).sealed, ['bc']),
    DecryptionError,
  )
})

test('S13: the first key encrypts and all decrypt; the error reports a key that is not in the ring', () => {
  const old = createValueCipher(createKeyring([oldKey]), 'vault')
  const both = createValueCipher(createKeyring([newKey, oldKey]), 'vault')
  assert.equal(both.decrypt(old.encrypt('before', bound).sealed, bound).toString(), 'before')
  assert.equal(vault.decrypt(both.encrypt('after', bound).sealed, bound).toString(), 'after')
  assert.throws(() => old.decrypt(sealed, bound), isDecryptionError('unknown_key'))
  assert.throws(() => vault.decrypt(old.encrypt('before', bound).sealed, bound), isDecryptionError('unknown_key'))
})

test('the id of a key is the same in every ring, and part of the encrypted value', () => {
  const ring = createKeyring([newKey, oldKey, newKey])
  assert.deepEqual(ring.ids, [createKeyring([newKey]).currentId, createKeyring([oldKey]).currentId])
  assert.equal(vault.encrypt('x', []).key_id, ring.currentId)
  assert.match(ring.currentId, /^[0-9a-f]{8}$/)
  assert.equal(sealed.toString('hex', 1, 5), ring.currentId)
  assert.equal(newKey.includes(Buffer.from(ring.currentId, 'hex')), false)
})

test('S12: sub-keys differ from each other and from the key', () => {
  const ring = createKeyring([newKey, oldKey])
  const all = ring.ids.flatMap(id => ['vault', 'reasoning seal', 'key id'].map(purpose => ring.derive(id, purpose)))
  const texts = [...all.map(key => key?.toString('hex')), newKey.toString('hex'), oldKey.toString('hex')]
  assert.equal(new Set(texts).size, 8)
  assert.equal(ring.derive('00000000', 'vault'), undefined)
})
