import assert from 'node:assert/strict'
import { generateKeyPairSync, verify } from 'node:crypto'
import { after, test } from 'node:test'
import { deploymentAt, targetAt } from '../../../../test/support/gateway/gateway-app.ts'
import { jsonAnswer, type RawRequest, startByteServer } from '../../../../test/support/upstream/byte-server.ts'
import { AppError } from '../../platform/errors.ts'
import { createOutbound } from '../../platform/outbound.ts'
import { createAuthorize } from './authorize.ts'
import { createGoogleTokens } from './google-token.ts'

const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()

/** A token endpoint, and the tokens of a service account under a clock that the test sets. */
async function endpoint(answer: (count: number) => string, allowed = true) {
  const requests: RawRequest[] = []
  const server = await startByteServer((socket, request) => {
    requests.push(request)
    socket.end(answer(requests.length))
  })
  after(() => server.stop())
  const clock = { nowMs: 1_800_000_000_000 }
  const outbound = createOutbound({ allow: allowed ? [server.host] : [] })
  const tokens = createGoogleTokens({ outbound, now: () => clock.nowMs })
  const account = { clientEmail: 'robot@p.example', privateKey: pem, tokenUri: `${server.url}/token` }
  return { requests, clock, account, token: async () => tokens(account), tokens }
}

const granted = (count: number) => jsonAnswer(JSON.stringify({ access_token: `token-${count}`, expires_in: 3_600 }))

test('a token request holds a signed assertion with account, scope and audience', async () => {
  const { token, requests, account } = await endpoint(granted)
  assert.equal(await token(), 'token-1')
  const form = new URLSearchParams(requests[0]?.body)
  assert.equal(form.get('grant_type'), 'urn:ietf:params:oauth:grant-type:jwt-bearer')
  const [head = '', claims = '', signature = ''] = (form.get('assertion') ?? '').split('.')
  assert.ok(verify('RSA-SHA256', Buffer.from(`${head}.${claims}`), publicKey, Buffer.from(signature, 'base64url')))
  const said = JSON.parse(Buffer.from(claims, 'base64url').toString())
  assert.deepEqual([said.iss, said.aud, said.exp - said.iat], [account.clientEmail, account.tokenUri, 3_600])
  assert.match(said.scope, /cloud-platform/)
})

test('a token is cached until a minute before it expires', async () => {
  const { token, clock, requests } = await endpoint(granted)
  await token()
  clock.nowMs += 3_539_000
  assert.equal(await token(), 'token-1')
  clock.nowMs += 1_000
  assert.equal(await token(), 'token-2')
  assert.equal(requests.length, 2)
})

test('concurrent callers share one request, and a cached token is returned at once', async () => {
  const { token, tokens, account, requests } = await endpoint(granted)
  assert.deepEqual(await Promise.all([token(), token(), token()]), ['token-1', 'token-1', 'token-1'])
  assert.equal(requests.length, 1)
  assert.equal(tokens(account), 'token-1')
})

const failures = [
  ['an error', jsonAnswer('{"error":"invalid_grant","error_description":"secret-in-text"}', '400 Bad Request')],
  ['a response that is not JSON', jsonAnswer('secret-in-text')],
  ['a response without a token', jsonAnswer('{"expires_in":3600}')],
  ['a response that is too long', jsonAnswer(`"${'x'.repeat(100_000)}"`)],
  ['no response', ''],
] as const

for (const [what, bytes] of failures) {
  test(`${what} is upstream_unreachable without a secret, and the next call requests a token again`, async () => {
    const { token } = await endpoint(count => (count === 1 ? bytes : granted(count)))
    const error = await token().catch((thrown: unknown) => thrown)
    assert.ok(error instanceof AppError)
    assert.equal(error.code, 'upstream_unreachable')
    assert.ok(!`${error.message} ${String(error.cause)}`.includes('secret-in-text'), String(error.cause))
    assert.equal(await token(), 'token-2')
  })
}

test('S21: a token endpoint at a private address that is not allowed is not called', async () => {
  const { token, requests } = await endpoint(granted, false)
  await assert.rejects(token(), { code: 'upstream_unreachable' })
  assert.equal(requests.length, 0)
})

test('a deployment with a service account sends its token, unless its own headers hold a credential', async () => {
  const { tokens, account } = await endpoint(granted)
  const authorize = createAuthorize({ googleTokens: tokens })
  const google = { project: 'p', location: 'global', serviceAccount: account }
  const deployment = deploymentAt('https://a.example', {
    protocols: ['gemini'],
    provider: 'vertex',
    apiKey: undefined,
    google,
  })
  const request = { url: 'https://a.example/x', headers: { a: 'b' }, body: Buffer.alloc(0) }
  assert.deepEqual(await authorize(targetAt(deployment), request), { a: 'b', authorization: 'Bearer token-1' })
  assert.deepEqual(authorize(targetAt(deployment), request), { a: 'b', authorization: 'Bearer token-1' })
  const own = { authorization: 'Bearer own' }
  assert.deepEqual(await authorize(targetAt({ ...deployment, headers: own }), request), { a: 'b', ...own })
})
