import assert from 'node:assert/strict'
import { test } from 'node:test'
import { secretMarker, withoutSecrets } from './secret-fields.ts'

const secret = 'words of nobody else'

const hidden = [
  'api_key',
  'apiKey',
  'APIKEY',
  'key',
  'secret',
  'client_secret',
  'token',
  'tokens',
  'access-token',
  'password',
  'passphrase',
  'value',
  'authorization',
  'Authorization',
  'x-api-key',
  'cookie',
  'credentials',
  'aws_secret_access_key',
  'private_key',
  'sealed',
  'hash',
  'pepper',
]
for (const name of hidden) {
  test(`S17: the text of a field ${name} is masked at any depth`, () => {
    const fields = { [name]: secret, deep: [{ [name]: secret }], whole: { [name]: { any: [secret] } } }
    const kept = withoutSecrets(fields)
    assert.doesNotMatch(JSON.stringify(kept), /nobody/)
    assert.deepEqual(kept, {
      [name]: secretMarker,
      deep: [{ [name]: secretMarker }],
      whole: { [name]: { any: [secretMarker] } },
    })
  })
}

test('all headers and environment variables are masked', () => {
  const fields = { headers: { 'x-team': secret }, env: { HOME: secret }, environment: { NAME: secret } }
  assert.doesNotMatch(JSON.stringify(withoutSecrets(fields)), /nobody/)
})

for (const text of [
  'sk-0123456789abcdef',
  'see sk-ant-api03-abcdefgh',
  'Bearer abcdef123456',
  'Basic b3BlbmNvZGU6eA==',
  '-----BEGIN RSA PRIVATE KEY-----\nMII',
]) {
  test(`${JSON.stringify(text)} looks like a secret and is masked under any name`, () => {
    assert.deepEqual(withoutSecrets({ note: text, list: [text] }), { note: secretMarker, list: [secretMarker] })
  })
}

test('public fields stay unchanged', () => {
  const fields = {
    id: 'key_1',
    key_id: 'key_1',
    label: 'team',
    prefix: 'sk-ab',
    last4: 'wxyz',
    masked: '****wxyz',
    models: ['a', 'b/*'],
    max_tokens: 4096,
    tokens: 12,
    input_cost_per_token: 0.000003,
    rpm_limit: null,
    token: null,
    secret: true,
    password: '',
    config: { sha256: 'ab', bytes: 2 },
    expires_at: new Date(0),
  }
  assert.deepEqual(withoutSecrets(fields), { ...fields, expires_at: '1970-01-01T00:00:00.000Z' })
})
