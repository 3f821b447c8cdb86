import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { createKeyring } from '../platform/seal.ts'
import { createSettingsSeals } from './stored-settings.ts'

const keyring = createKeyring([randomBytes(32)])
const seals = createSettingsSeals(keyring)
const times = { created_at: new Date(1), updated_at: new Date(2) }
const canary = 'sk-canary-0123456789'

const credential = (changes: object = {}) => {
  const given = { provider: 'openai', apiBase: 'https://api.openai.com/v1', masked: '…', params: { api_key: canary } }
  return { id: 'openai', ...times, ...seals.credentialRow(given, undefined), ...changes }
}
const model = (changes: object = {}, params: object = { model: 'openai/x', rpm: 5, api_key: canary }) => {
  const given = { id: 'dep_1', modelName: 'm', params: { ...params }, origin: 'https://api.openai.com' }
  return { id: 'dep_1', created_by: 'master', ...times, ...seals.modelRow(given, undefined), ...changes }
}

test('S11: no part of a row holds a secret in clear, and what was stored comes back', () => {
  for (const row of [credential(), model()]) assert.doesNotMatch(JSON.stringify(row), /canary|Y2FuYXJ5/)
  assert.deepEqual(seals.openCredential(credential()).params, {
    api_key: canary,
    api_base: 'https://api.openai.com/v1',
  })
  const { params, shown, origin } = seals.openModel(model())
  assert.deepEqual(params, { model: 'openai/x', rpm: 5, api_key: canary })
  assert.deepEqual(shown, { model: 'openai/x', rpm: 5, api_key: '…6789' })
  assert.equal(origin, 'https://api.openai.com')
})

test('a model without a secret has nothing sealed', () => {
  const row = model({}, { model: 'ollama/x' })
  assert.deepEqual([row.sealed, row.key_id], [null, null])
  assert.deepEqual(seals.openModel(row).params, { model: 'ollama/x' })
})

const changed = 'what was sealed was damaged or changed; store it again'
const other = credential()
const tampered = [
  ['S25: a credential whose address was changed', () => credential({ api_base: 'https://evil.example' })],
  ['S11: a credential that was moved to another provider', () => credential({ id: 'azure', provider: 'azure' })],
  ['S11: a credential that was put back from an older copy', () => credential({ version: other.version - 1 })],
  ['S11: a damaged credential', () => credential({ sealed: Buffer.concat([credential().sealed, Buffer.of(0)]) })],
] as const
for (const [name, row] of tampered) {
  test(`${name} does not open`, () => {
    const { params, problem } = seals.openCredential(row())
    assert.deepEqual([params, problem], [undefined, changed])
  })
}

test('S11: the secrets of a model do not open in another row, nor as a credential', () => {
  assert.equal(seals.openModel(model({ id: 'dep_2' })).problem, changed)
  assert.equal(seals.openCredential(credential({ sealed: model().sealed })).problem, changed)
})

test('a row of an encryption key that is not given names that key', () => {
  const others = createSettingsSeals(createKeyring([randomBytes(32)]))
  const { params, problem } = others.openCredential(credential())
  assert.equal(params, undefined)
  assert.equal(problem, `it is sealed with encryption key ${keyring.currentId}, which is not given here`)
})

test('a version is never used twice, so an old copy does not open after a change', () => {
  const first = model()
  const next = seals.modelRow({ id: 'dep_1', modelName: 'm', params: {}, origin: '' }, first.version)
  assert.ok(next.version > first.version)
})
