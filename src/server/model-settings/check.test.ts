import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { ModelParams } from '../../contract/model-settings.ts'
import { checkCredential, checkModel } from './check.ts'
import type { Params } from './secret-params.ts'

const config = { environmentKeys: {}, demo: true, outboundAllow: ['127.0.0.1:11434', '10.0.0.5:8080'] }
const key = 'sk-canary-0123456789'

/** Checks a model, optionally with a stored credential. */
const check = (params: Params, stored?: Params, name = 'm') =>
  checkModel({ model_name: name, params }, { config, credentialOf: () => stored })
const problemsOf = (params: Params, stored?: Params) => check(params, stored).problems

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const account = (more: object = {}) =>
  JSON.stringify({
    client_email: 'robot@p.iam.gserviceaccount.com',
    private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
    project_id: 'p',
    ...more,
  })

test('the contract has exactly the parameters of the configuration file', () => {
  const [problem = ''] = problemsOf({ model: 'ollama/x', zzzzzzzzzzzz: 1 })
  const known = /^unknown key params\.zzzzzzzzzzzz; known fields: (.+)$/.exec(problem)?.[1]?.split(', ')
  assert.deepEqual(known?.sort(), Object.keys(ModelParams.properties).sort())
})

test('a model is parsed like in the configuration file', () => {
  const { deployment } = check({ model: 'anthropic/claude-x', api_key: key, weight: 3, rpm: 5, timeout: 2.5 })
  assert.deepEqual(
    [
      deployment?.protocols.join(),
      deployment?.apiBase,
      deployment?.weight,
      deployment?.rpm,
      deployment?.timeouts.totalMs,
    ],
    ['anthropic-messages', 'https://api.anthropic.com', 3, 5, 2_500],
  )
})

const faults: readonly (readonly [name: string, params: Params, expected: string])[] = [
  ['no model', { api_key: key }, 'params.model is required'],
  ['a typo', { model: 'openai/x', api_key: key, wieght: 5 }, 'unknown key params.wieght; did you mean weight?'],
  ['a negative weight', { model: 'openai/x', api_key: key, weight: -1 }, 'params.weight must be a number of 0 or more'],
  [
    'a provider that nobody knows',
    { model: 'antropic/x', api_key: key },
    'params.model names the unknown provider antropic; did you mean anthropic?; for another provider set protocols and api_base',
  ],
  [
    'a variable of the environment',
    { model: 'openai/x', api_key: 'os.environ/OPENAI_API_KEY' },
    'params.api_key refers to an environment variable, which is only allowed in the configuration file',
  ],
  [
    'the path of a file',
    { model: 'vertex/gemini-3-pro', vertex_project: 'p', vertex_credentials: '/etc/passwd' },
    'params.vertex_credentials is not the JSON of a service account',
  ],
  [
    'a masked key, sent back',
    { model: 'openai/x', api_key: '…abcd' },
    'params.api_key is empty or contains a character that is not allowed in an HTTP header',
  ],
  [
    'no key anywhere',
    { model: 'openai/x' },
    'params.api_key is required: provider openai has no stored credential; store one with PUT /api/providers/openai',
  ],
]
for (const [name, params, expected] of faults) {
  test(`a model is rejected with the field for ${name}`, () => {
    assert.deepEqual(problemsOf(params), [expected])
  })
}

test('a name is required, and demo is reserved for the scripted model', () => {
  const params = { model: 'ollama/x' }
  const asked = (model_name?: string) =>
    checkModel({ model_name, params }, { config, credentialOf: () => undefined }).problems
  assert.deepEqual(asked(), ['model_name is required'])
  assert.deepEqual(asked('demo'), ['model_name demo is the scripted model; rename it, or set demo: false'])
  assert.deepEqual(asked('a*b'), ['model_name may contain * only at its end'])
})

test('litellm_params is an alias of params, used in messages; both together are rejected', () => {
  const rules = { config, credentialOf: () => undefined }
  const given = { model: 'openai/x', api_key: key }
  assert.equal(checkModel({ model_name: 'm', litellm_params: given }, rules).deployment?.apiKey, key)
  assert.deepEqual(checkModel({ model_name: 'm', litellm_params: { model: 'x' } }, rules).problems, [
    'litellm_params.model must be "<provider>/<upstream id>", such as anthropic/claude-opus-5',
  ])
  assert.deepEqual(checkModel({ model_name: 'm', params: given, litellm_params: given }, rules).problems, [
    'request body has both params and litellm_params; remove one',
  ])
})

test('S25: a model without its own address and key gets both from its provider', () => {
  const stored = { api_key: key, api_base: 'https://eu.example/v1' }
  const { deployment } = check({ model: 'openai/x' }, stored)
  assert.deepEqual([deployment?.apiBase, deployment?.apiKey], ['https://eu.example/v1', key])
})

const elsewhere: readonly Params[] = [
  { model: 'openai/x', api_base: 'https://evil.example' },
  { model: 'openai-compatible/x', api_base: 'https://evil.example', protocol: 'openai-chat' },
  { model: 'openai/x', api_base: 'https://eu.example.evil.example/v1' },
]
for (const params of elsewhere) {
  test(`S25: a stored key is not sent to ${params['api_base']}`, () => {
    const { deployment } = check(params, { api_key: key, api_base: 'https://eu.example/v1' })
    assert.equal(deployment?.apiKey, undefined)
    assert.equal(deployment?.apiBase, params['api_base'])
  })
}

test('a model with the stored address of its provider gets the stored key', () => {
  const stored = { api_key: key, api_base: 'https://vllm.example/v1' }
  const { deployment } = check({ model: 'openai-compatible/x', api_base: 'https://vllm.example/v1' }, stored)
  assert.deepEqual([deployment?.apiBase, deployment?.apiKey], ['https://vllm.example/v1', key])
})

test('S25: a model with its own key uses neither key nor address of its provider', () => {
  const { deployment } = check(
    { model: 'openai/x', api_key: 'sk-own' },
    { api_key: key, api_base: 'https://a.example' },
  )
  assert.deepEqual([deployment?.apiBase, deployment?.apiKey], ['https://api.openai.com/v1', 'sk-own'])
})

test('S25: the key of the environment is sent only to the default address of the provider', () => {
  const rules = { config: { ...config, environmentKeys: { openai: key } }, credentialOf: () => undefined }
  const keyOf = (params: Params) => checkModel({ model_name: 'm', params }, rules).deployment?.apiKey
  assert.equal(keyOf({ model: 'openai/x' }), key)
  assert.equal(keyOf({ model: 'openai/x', api_base: 'https://evil.example' }), undefined)
})

test('S25: a stored AWS key is not used in another region, which is another host', () => {
  const stored = {
    api_base: 'https://bedrock-runtime.us-east-1.amazonaws.com',
    aws_region_name: 'us-east-1',
    aws_access_key_id: 'AKIA0123456789',
    aws_secret_access_key: key,
  }
  const { deployment } = check({ model: 'bedrock/x', aws_region_name: 'us-east-1' }, stored)
  assert.equal(deployment?.aws?.secretAccessKey, key)
  assert.deepEqual(problemsOf({ model: 'bedrock/x', aws_region_name: 'eu-west-1' }, stored), [
    'params.api_key, or aws_access_key_id and aws_secret_access_key, is required for bedrock',
  ])
})

const notPublic = (target: string) =>
  `${target} is not a public address; to allow it, add "${target}" to outbound.allow`
const bases: readonly (readonly [base: string, expected: string])[] = [
  ['http://127.0.0.1:8080', notPublic('127.0.0.1:8080')],
  ['https://localhost', notPublic('localhost:443')],
  ['https://2130706433', notPublic('127.0.0.1:443')],
  ['https://0x7f.1', notPublic('127.0.0.1:443')],
  ['https://0177.0.0.1', notPublic('127.0.0.1:443')],
  ['https://169.254.169.254/latest', notPublic('169.254.169.254:443')],
  ['https://metadata.google.internal.', notPublic('metadata.google.internal.:443')],
  ['https://[::ffff:10.0.0.1]', notPublic('[::ffff:a00:1]:443')],
  ['https://[::1]:9', notPublic('[::1]:9')],
  ['http://api.example', 'the address must start with https://, unless "api.example:80" is in outbound.allow'],
]
for (const [api_base, expected] of bases) {
  test(`S20, S21, S24: ${api_base} is rejected with the entry that would allow it`, () => {
    assert.deepEqual(problemsOf({ model: 'openai-compatible/x', api_base }), [`params.api_base: ${expected}`])
  })
}

const spellings = [
  'https://api.example\\@127.0.0.1',
  'https://user:secret@api.example',
  'https://api.example/?key=1',
  'file:///etc/passwd',
  'gopher://api.example',
  'data:text/plain,x',
  ' https://api.example',
  'https://api.exa\tmple',
  '//api.example',
]
for (const api_base of spellings) {
  test(`S20: ${JSON.stringify(api_base)} is not a valid api_base`, () => {
    const [problem = '', ...more] = problemsOf({ model: 'openai-compatible/x', api_base })
    assert.match(problem, /^params\.api_base must /)
    assert.deepEqual(more, [])
  })
}

test('a private address in outbound.allow may be used, even without TLS', () => {
  assert.equal(
    check({ model: 'openai-compatible/x', api_base: 'http://10.0.0.5:8080/v1' }).deployment?.apiBase,
    'http://10.0.0.5:8080/v1',
  )
})

test('S24: the token_uri of a service account is checked too', () => {
  const given = { model: 'vertex/gemini-3-pro', vertex_credentials: account({ token_uri: 'http://169.254.169.254/' }) }
  assert.deepEqual(problemsOf(given), [`params.vertex_credentials: ${notPublic('169.254.169.254:80')}`])
})

const credentials: readonly (readonly [provider: string, params: Params, aliases: readonly string[]])[] = [
  ['anthropic', { api_key: key }, ['anthropic/*', 'claude-*']],
  ['openai', { api_key: key }, ['openai/*']],
  ['azure', { api_key: key, api_base: 'https://r.openai.azure.com/openai/v1' }, ['azure/*']],
  ['openai-compatible', { api_base: 'https://vllm.example/v1' }, ['openai-compatible/*']],
  ['ollama', {}, ['ollama/*']],
  ['bedrock', { aws_region_name: 'us-east-1', api_key: key }, ['bedrock/*']],
  ['vertex', { vertex_credentials: account() }, ['vertex/*', 'vertex/claude-*']],
]
for (const [provider, params, aliases] of credentials) {
  test(`a credential of ${provider} enables ${aliases.join(' and ')}`, () => {
    const { deployments, problems } = checkCredential({ provider, params }, config)
    assert.deepEqual(problems, [])
    assert.deepEqual(
      deployments.map(({ alias }) => alias),
      aliases,
    )
  })
}

const lacks: readonly (readonly [provider: string, params: Params, expected: string])[] = [
  ['anthropic', {}, 'api_key is required'],
  ['anthropic', { api_base: 'https://proxy.example' }, 'api_key is required'],
  ['azure', { api_key: key }, 'api_base is required for azure'],
  ['bedrock', { api_key: key }, 'aws_region_name or api_base is required for bedrock'],
  ['vertex', {}, 'vertex_credentials, or an access token as api_key, is required for vertex'],
  ['ollama', { aws_region_name: 'x' }, 'aws_region_name is only supported for provider bedrock'],
]
for (const [provider, params, expected] of lacks) {
  test(`a credential of ${provider} from ${Object.keys(params).join(' and ') || 'nothing'}: ${expected}`, () => {
    const [problem = ''] = checkCredential({ provider, params }, config).problems
    assert.ok(problem.startsWith(expected), problem)
  })
}

test('a stored credential never uses the key of the environment', () => {
  const { problems } = checkCredential(
    { provider: 'openai', params: {} },
    { ...config, environmentKeys: { openai: key } },
  )
  assert.equal(problems.length, 1)
})
