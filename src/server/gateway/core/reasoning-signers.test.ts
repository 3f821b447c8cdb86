import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createKeyring } from '../../platform/encryption.ts'
import { createReasoningSigners } from './reasoning-signers.ts'

const oldKey = Buffer.alloc(32, 1)
const newKey = Buffer.alloc(32, 2)
const bound = { provider: 'gemini', model: 'gemini-3-pro' }
const signerOf = (...keys: readonly Buffer[]) => createReasoningSigners(createKeyring(keys))(bound)
const signature = signerOf(oldKey).sign('opaque state')

test('S13: a signature under an older key is valid as long as the key is in the ring', () => {
  const both = signerOf(newKey, oldKey)
  assert.equal(both.stateOf(signature), 'opaque state')
  const signed = both.sign('newer state')
  assert.equal(signerOf(newKey).stateOf(signed), 'newer state')
  assert.equal(signerOf(oldKey).stateOf(signed), undefined)
  assert.equal(signerOf(newKey).stateOf(signature), undefined)
})

test('a signature consists of prefix, key id, payload and mac', () => {
  const [prefix, keyId, payload = '', mac = ''] = signature.split('.')
  assert.equal(prefix, 'sy1')
  assert.match(keyId ?? '', /^[0-9a-f]{8}$/)
  assert.deepEqual(JSON.parse(Buffer.from(payload, 'base64url').toString()), { ...bound, state: 'opaque state' })
  assert.equal(Buffer.from(mac, 'base64url').length, 32)
})

test('S11: a signature with any changed character is invalid', () => {
  // The last character of a mac carries two bits that decoding drops.
  for (let at = 0; at < signature.length - 1; at++) {
    const other = signature[at] === 'A' ? 'B' : 'A'
    const changed = signature.slice(0, at) + other + signature.slice(at + 1)
    assert.equal(signerOf(oldKey).stateOf(changed), undefined, `character ${at}`)
  }
  assert.equal(
    createReasoningSigners(createKeyring([oldKey]))({ ...bound, provider: 'openai' }).stateOf(signature),
    undefined,
  )
})
