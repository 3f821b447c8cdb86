import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runLine, scriptedService } from '../../test/support/service/command-line.ts'

const key = 'sk-canary-0123456789'
const connected = {
  id: 'x',
  connected: true,
  source: 'api',
  masked_api_key: '…6789',
  api_base: 'https://x',
  error: null,
}
const answers = {
  'PUT /api/providers/anthropic': () => Response.json({ ...connected, id: 'anthropic' }),
  'PUT /api/providers/bedrock': () => Response.json({ ...connected, id: 'bedrock' }),
  'PUT /api/providers/vertex': () => Response.json({ ...connected, id: 'vertex' }),
  'PUT /api/providers/ollama': () => Response.json({ ...connected, id: 'ollama' }),
  'POST /api/models': () => Response.json({ id: 'dep_1', model_name: 'opus' }, { status: 201 }),
}
const stdin = (text: string) => ({ isTerminal: false, read: async () => text })

/** Returns the body that a command line sends. */
async function sent(args: readonly string[], { input = '', env = {} }: { input?: string; env?: object } = {}) {
  const { fetch, seen } = scriptedService(answers)
  const { code, stdout, stderr } = await runLine(args, { fetch, stdin: stdin(input), env: { ...env } })
  assert.equal(code, 0, stderr)
  assert.doesNotMatch(stdout + stderr, /canary/)
  return { body: seen[0]?.body, stdout }
}

const aws = { AWS_ACCESS_KEY_ID: 'AKIA1', AWS_SECRET_ACCESS_KEY: key }
const sets: readonly (readonly [line: string, given: { input?: string; env?: object }, body: object])[] = [
  ['anthropic', { input: `${key}\n` }, { api_key: key }],
  ['anthropic --from-env MY_KEY', { env: { MY_KEY: key }, input: 'not this' }, { api_key: key }],
  ['anthropic --api-base https://a.example', { input: key }, { api_base: 'https://a.example', api_key: key }],
  [
    'bedrock --region us-east-1 --aws-from-env',
    { env: aws },
    { aws_region_name: 'us-east-1', aws_access_key_id: 'AKIA1', aws_secret_access_key: key },
  ],
  [
    'vertex --project p --location eu',
    { input: `{"private_key":"${key}"}` },
    { vertex_project: 'p', vertex_location: 'eu', vertex_credentials: `{"private_key":"${key}"}` },
  ],
  ['ollama --keyless', {}, {}],
]
for (const [line, given, body] of sets) {
  test(`providers set ${line} sends the credential and prints no part of it`, async () => {
    assert.deepEqual((await sent(['providers', 'set', ...line.split(' ')], given)).body, body)
  })
}

const withoutKey = [
  ['an empty standard input', ['providers', 'set', 'anthropic']],
  ['a variable that is not set', ['providers', 'set', 'anthropic', '--from-env', 'NOT_SET']],
  ['an AWS key that is not set', ['providers', 'set', 'bedrock', '--aws-from-env']],
  ['a key among the parameters', ['models', 'add', 'm', 'openai/x', '--param', `api_key=${key}`]],
  ['a parameter without a value', ['models', 'add', 'm', 'openai/x', '--param', 'weight']],
] as const
for (const [name, args] of withoutKey) {
  test(`${name} returns exit code 2 and sends no request`, async () => {
    const { fetch, seen } = scriptedService(answers)
    const { code, stderr } = await runLine(args, { fetch })
    assert.equal(code, 2)
    assert.notEqual(stderr, '')
    assert.deepEqual(seen, [])
  })
}

test('models add sends name, model and parameters, and prints the id', async () => {
  const { body, stdout } = await sent(['models', 'add', 'opus', 'anthropic/claude-opus-5'])
  assert.deepEqual(body, { model_name: 'opus', params: { model: 'anthropic/claude-opus-5' } })
  assert.equal(stdout, 'dep_1\n')
  const line = 'models add m openai/x --api-base https://a.example --from-stdin --param weight=3 --param deny=["a.b"]'
  const given = await sent([...line.split(' '), '--param', 'vertex_project="7"'], { input: key })
  assert.deepEqual(given.body, {
    model_name: 'm',
    params: {
      model: 'openai/x',
      api_base: 'https://a.example',
      api_key: key,
      weight: 3,
      deny: ['a.b'],
      vertex_project: '7',
    },
  })
})

test('providers list prints the connection of each provider, and why a stored credential is not used', async () => {
  const off = { connected: false, source: null, masked_api_key: null, api_base: null, error: null }
  const providers = [
    { ...connected, id: 'anthropic' },
    { ...off, id: 'azure' },
    { ...connected, id: 'gemini', connected: false, error: 'it does not open\u001b[2J' },
  ]
  const { fetch } = scriptedService({ 'GET /api/providers': () => Response.json({ providers }) })
  const { code, stdout, stderr } = await runLine(['providers', 'list'], { fetch })
  assert.equal(code, 0)
  assert.match(stdout, /^anthropic +connected +api +…6789 +https:\/\/x$/m)
  assert.match(stdout, /^azure +- +- +- +-$/m)
  assert.match(stdout, /^gemini +not used/m)
  assert.equal(stderr, 'gemini: it does not open\n')
})

test('providers test returns exit code 1 when the provider rejects the credential', async () => {
  const answer = (body: object) => scriptedService({ 'POST /api/providers/x/test': () => Response.json(body) })
  const good = await runLine(['providers', 'test', 'x'], answer({ ok: true, latency_ms: 120 }))
  assert.deepEqual([good.code, good.stdout], [0, '✓ x accepts the credential (0.1 s)\n'])
  const bad = await runLine(['providers', 'test', 'x'], answer({ ok: false, latency_ms: 5, error: 'status 401' }))
  assert.deepEqual([bad.code, bad.stdout], [1, '✗ status 401\n'])
})

test('models list prints names, sources and unused models', async () => {
  const models = [
    {
      id: 'sonnet.1',
      source: 'file',
      error: null,
      model_name: 'sonnet',
      params: { model: 'anthropic/claude-sonnet-5' },
    },
    { id: 'dep_1', source: 'api', error: 'no key', model_name: 'gpt', params: { model: 'openai/gpt-x' } },
  ]
  const { fetch } = scriptedService({ 'GET /api/models': () => Response.json({ models, next_cursor: null }) })
  const { stdout, stderr } = await runLine(['models', 'list'], { fetch })
  assert.match(stdout, /^sonnet\.1 +file +ok +sonnet +anthropic\/claude-sonnet-5$/m)
  assert.match(stdout, /^dep_1 +api +not used +gpt +openai\/gpt-x$/m)
  assert.equal(stderr, 'dep_1: no key\n')
})

test('providers remove and models remove delete the given object', async () => {
  const ok = () => Response.json({ ok: true })
  const { fetch, seen } = scriptedService({ 'DELETE /api/providers/openai': ok, 'DELETE /api/models/dep_1': ok })
  assert.equal((await runLine(['providers', 'remove', 'openai', '--yes'], { fetch })).code, 0)
  assert.equal((await runLine(['models', 'remove', 'dep_1', '--yes'], { fetch })).code, 0)
  assert.equal(seen.length, 2)
})
