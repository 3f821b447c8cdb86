import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { createKeyring } from '../platform/encryption.ts'
import { createSettingsEncryption } from './stored-settings.ts'

const keyring = createKeyring([randomBytes(32)])
const encryption = createSettingsEncryption(keyring)
const times = { created_at: new Date(1), updated_at: new Date(2) }
const canary = 'sk-canary-0123456789'

const credential = (changes: object = {}) => {
  const given = { provider: 'openai', apiBase: 'https://api.openai.com/v1', masked: '…', params: { api_key: canary } }
  return { id: 'openai', ...times, ...encryption.credentialRow(given, undefined), ...changes }
}
const model = (changes: object = {}, params: object = { model: 'openai/x', rpm: 5, api_key: canary }) => {
  const given = { id: 'dep_1', modelName: 'm', params: { ...params }, origin: 'https://api.openai.com' }
  return { id: 'dep_1', created_by: 'master', ...times, ...encryption.modelRow(given, undefined), ...changes }
}

test('S11: rows contain no plaintext secret, and decrypt to the stored values', () => {
  for (const row of [credential(), model()]) assert.doesNotMatch(JSON.stringify(row), /canary|Y2FuYXJ5/)
  assert.deepEqual(encryption.decryptCredential(credential()).params, {
    api_key: canary,
    api_base: 'https://api.openai.com/v1',
  })
  const { params, shown, origin } = encryption.decryptModel(model())
  assert.deepEqual(params, { model: 'openai/x', rpm: 5, api_key: canary })
  assert.deepEqual(shown, { model: 'openai/x', rpm: 5, api_key: '…6789' })
  assert.equal(origin, 'https://api.openai.com')
})

test('a model without secrets has no encrypted value', () => {
  const row = model({}, { model: 'ollama/x' })
  assert.deepEqual([row.sealed, row.key_id], [null, null])
  assert.deepEqual(encryption.decryptModel(row).params, { model: 'ollama/x' })
})

const changed = 'its encrypted value is damaged or was modified; store it again'
const other = credential()
const tampered = [
  ['S25: a credential whose address was changed', () => credential({ api_base: 'https://evil.example' })],
  ['S11: a credential that was moved to another provider', () => credential({ id: 'azure', provider: 'azure' })],
  ['S11: a credential that was put back from an older copy', () => credential({ version: other.version - 1 })],
  ['S11: a damaged credential', () => credential({ sealed: Buffer.concat([credential().sealed, Buffer.of(0)]) })],
] as const
for (const [name, row] of tampered) {
  test(`${name} cannot be decrypted`, () => {
    const { params, problem } = encryption.decryptCredential(row())
    assert.deepEqual([params, problem], [undefined, changed])
  })
}

test('S11: the secrets of a model cannot be decrypted in another row or as a credential', () => {
  assert.equal(encryption.decryptModel(model({ id: 'dep_2' })).problem, changed)
  assert.equal(encryption.decryptCredential(credential({ sealed: model().sealed })).problem, changed)
})

test('the error of a row with an unknown encryption key names that key', () => {
  const others = createSettingsEncryption(createKeyring([randomBytes(32)]))
  const { params, problem } = others.decryptCredential(credential())
  assert.equal(params, undefined)
  assert.equal(problem, `it is encrypted with encryption key ${keyring.currentId}, which is not configured`)
})

test('a version is never reused, so an old copy cannot be decrypted after a change', () => {
  const first = model()
  const next = encryption.modelRow({ id: 'dep_1', modelName: 'm', params: {}, origin: '' }, first.version)
  assert.ok(next.version > first.version)
})
