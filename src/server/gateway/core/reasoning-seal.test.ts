import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createKeyring } from '../../platform/seal.ts'
import { createReasoningSeals } from './reasoning-seal.ts'

const oldKey = Buffer.alloc(32, 1)
const newKey = Buffer.alloc(32, 2)
const bound = { provider: 'gemini', model: 'gemini-3-pro' }
const sealsOf = (...keys: readonly Buffer[]) => createReasoningSeals(createKeyring(keys))(bound)
const signature = sealsOf(oldKey).seal('opaque state')

test('S13: reasoning that an older key has sealed opens as long as the key is in the ring', () => {
  const both = sealsOf(newKey, oldKey)
  assert.equal(both.open(signature), 'opaque state')
  const sealed = both.seal('newer state')
  assert.equal(sealsOf(newKey).open(sealed), 'newer state')
  assert.equal(sealsOf(oldKey).open(sealed), undefined)
  assert.equal(sealsOf(newKey).open(signature), undefined)
})

test('a signature is the prefix, the id of its key, what it carries and a mac', () => {
  const [prefix, keyId, payload = '', mac = ''] = signature.split('.')
  assert.equal(prefix, 'sy1')
  assert.match(keyId ?? '', /^[0-9a-f]{8}$/)
  assert.deepEqual(JSON.parse(Buffer.from(payload, 'base64url').toString()), { ...bound, state: 'opaque state' })
  assert.equal(Buffer.from(mac, 'base64url').length, 32)
})

test('S11: a signature with any changed character opens nothing', () => {
  // The last character of a mac carries two bits that decoding drops.
  for (let at = 0; at < signature.length - 1; at++) {
    const other = signature[at] === 'A' ? 'B' : 'A'
    const changed = signature.slice(0, at) + other + signature.slice(at + 1)
    assert.equal(sealsOf(oldKey).open(changed), undefined, `character ${at}`)
  }
  assert.equal(
    createReasoningSeals(createKeyring([oldKey]))({ ...bound, provider: 'openai' }).open(signature),
    undefined,
  )
})
