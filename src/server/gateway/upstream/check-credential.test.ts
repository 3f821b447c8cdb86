import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { after, test } from 'node:test'
import { deploymentAt } from '../../../../test/support/gateway/gateway-app.ts'
import { jsonAnswer, type RawRequest, startByteServer } from '../../../../test/support/upstream/byte-server.ts'
import type { Deployment } from '../../config/deployments.ts'
import { createOutbound } from '../../platform/outbound.ts'
import { createAuthorize } from './authorize.ts'
import { createCredentialCheck } from './check-credential.ts'
import { createGoogleTokens } from './google-token.ts'

const key = 'sk-canary-0123456789-abcdef'
const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()

type Answer = (request: RawRequest) => string

/** An upstream that responds with `answer`, and a credential check that may reach it. */
async function upstream(answer: Answer) {
  const requests: RawRequest[] = []
  const server = await startByteServer((socket, request) => {
    requests.push(request)
    socket.end(answer(request))
  })
  after(() => server.stop())
  const outbound = createOutbound({ allow: [server.host] })
  const check = createCredentialCheck({
    outbound,
    authorize: createAuthorize({ googleTokens: createGoogleTokens({ outbound }) }),
  })
  const deployment = (changes: Partial<Deployment>) =>
    deploymentAt(server.url, { apiKey: key, upstreamModel: '*', ...changes })
  return { requests, server, check: (changes: Partial<Deployment> = {}) => check(deployment(changes)) }
}

const fine: Answer = () => jsonAnswer('{"data":[]}')
const refused: Answer = () => jsonAnswer('{"error":{"message":"invalid key"}}', '401 Unauthorized')
const firstLine = ({ head }: RawRequest) => head.split('\r\n')[0]?.replace(' HTTP/1.1', '')

const aws = { region: 'us-east-1', accessKeyId: 'AKIACANARY', secretAccessKey: key, sessionToken: undefined }
const readings: readonly (readonly [Partial<Deployment>, line: string, header: RegExp])[] = [
  [{ protocols: ['anthropic-messages'] }, 'GET /v1/models?limit=1', /x-api-key: sk-canary/],
  [{ protocols: ['anthropic-messages'], provider: 'openrouter' }, 'GET /v1/key', /authorization: Bearer sk-canary/],
  [{ protocols: ['openai-responses'], provider: 'openai' }, 'GET /models', /authorization: Bearer sk-canary/],
  [{ protocols: ['openai-chat', 'anthropic-messages'] }, 'GET /v1/models', /authorization: Bearer sk-canary/],
  [{ protocols: ['openai-responses'], provider: 'azure' }, 'GET /models', /api-key: sk-canary/],
  [{ protocols: ['gemini'], provider: 'gemini' }, 'GET /v1beta/models?pageSize=1', /x-goog-api-key: sk-canary/],
  [
    { protocols: ['bedrock-converse'], provider: 'bedrock', aws, apiKey: undefined },
    'POST /model/switchyard-credential-test/converse',
    /authorization: AWS4-HMAC-SHA256 Credential=AKIACANARY/,
  ],
]
for (const [changes, line, header] of readings) {
  test(`a credential of ${changes.provider ?? 'anthropic'} is tested by ${line}`, async () => {
    const { check, requests } = await upstream(fine)
    const { problem, latencyMs } = await check(changes)
    assert.equal(problem, undefined)
    assert.ok(Number.isInteger(latencyMs) && latencyMs >= 0)
    assert.deepEqual(requests.map(firstLine), [line])
    assert.match(requests[0]?.head ?? '', header)
  })

  test(`a credential that ${changes.provider ?? 'anthropic'} rejects at ${line} is invalid`, async () => {
    const { check } = await upstream(refused)
    assert.equal((await check(changes)).problem, 'the provider answered with status 401: invalid key')
  })
}

test('a service account is tested by its token and a token count', async () => {
  const { check, requests, server } = await upstream(({ head }) =>
    head.includes('/token')
      ? jsonAnswer('{"access_token":"t-1","expires_in":3600}')
      : jsonAnswer('{}', '404 Not Found'),
  )
  const serviceAccount = { clientEmail: 'robot@p', privateKey: pem, tokenUri: `${server.url}/token` }
  const google = { project: 'p', location: 'eu', serviceAccount }
  const { problem } = await check({ protocols: ['gemini'], provider: 'vertex', google, apiKey: undefined })
  assert.equal(problem, undefined)
  assert.deepEqual(requests.map(firstLine), [
    'POST /token',
    'POST /v1/projects/p/locations/eu/publishers/google/models/switchyard-credential-test:countTokens',
  ])
})

test('a failed token request is reported with Google’s error code', async () => {
  const { check, server } = await upstream(() => jsonAnswer('{"error":"invalid_grant"}', '400 Bad Request'))
  const serviceAccount = { clientEmail: 'robot@p', privateKey: pem, tokenUri: `${server.url}/token` }
  const google = { project: 'p', location: 'eu', serviceAccount }
  const { problem } = await check({ protocols: ['gemini'], provider: 'vertex', google, apiKey: undefined })
  assert.equal(problem, 'the token endpoint answered with status 400: invalid_grant')
})

test('a server without a list of models is tested with a call to a model that does not exist', async () => {
  const noList =
    (status: string): Answer =>
    ({ head }) =>
      jsonAnswer('{}', head.startsWith('GET') ? '404 Not Found' : status)
  const taken = await upstream(noList('404 Not Found'))
  assert.equal((await taken.check({ protocols: ['openai-chat'] })).problem, undefined)
  assert.deepEqual(taken.requests.map(firstLine), ['GET /models', 'POST /chat/completions'])
  const wrong = await upstream(noList('403 Forbidden'))
  assert.equal((await wrong.check({ protocols: ['openai-chat'] })).problem, 'the provider answered with status 403')
})

const echoes: readonly (readonly [name: string, body: string])[] = [
  ['in a message', `{"error":{"message":"wrong key ${key}"}}`],
  ['as text', `wrong key ${key}`],
  ['in base64', `{"message":"wrong key ${Buffer.from(key).toString('base64')}"}`],
  [
    'with escapes',
    `{"error":"wrong key ${[...key].map(c => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')}"}`,
  ],
  ['in part', `{"error":{"message":"wrong key ${key.slice(0, 14)}"}}`],
]
for (const [name, body] of echoes) {
  test(`S41: a key that the upstream echoes ${name} is not in the result`, async () => {
    const { check } = await upstream(() => jsonAnswer(body, '401 Unauthorized'))
    const { problem = '' } = await check()
    assert.match(problem, /^the provider answered with status 401: wrong key .{0,3}\[secret\]/)
    assert.doesNotMatch(problem, /canary|012345/)
  })
}

const failures: readonly (readonly [name: string, answer: Answer, expected: string])[] = [
  [
    'a redirect',
    () => 'HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n',
    'the provider answered with a redirect (status 302)',
  ],
  ['an HTML page', () => jsonAnswer('<html>canary</html>', '502 Bad Gateway'), 'the provider answered with status 502'],
  [
    'control characters',
    () => jsonAnswer('{"error":{"message":"no\\u001b[2J\\nsuch"}}', '400 Bad Request'),
    'the provider answered with status 400: no [2J such',
  ],
  ['a closed connection', () => '', 'the provider cannot be reached (UND_ERR_SOCKET)'],
]
for (const [name, answer, expected] of failures) {
  test(`the result reports ${name}`, async () => {
    const { check } = await upstream(answer)
    assert.equal((await check()).problem, expected)
  })
}

test('S21: an address that is not allowed is not called, and the result shows the line that allows it', async () => {
  const check = createCredentialCheck({ outbound: createOutbound({ allow: [] }), authorize: createAuthorize() })
  const { problem } = await check(deploymentAt('http://127.0.0.1:9', { apiKey: key }))
  assert.equal(problem, '127.0.0.1:9 is not a public address; to allow it, add "127.0.0.1:9" to outbound.allow')
})
