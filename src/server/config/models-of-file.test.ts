import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { configReader } from '../../../test/support/service/config-file.ts'

const { folder, load, problemsOf } = configReader()

/** Configuration with one model with these parameters. */
const model = (params: Record<string, unknown>): string =>
  JSON.stringify({ model_list: [{ model_name: 'm', params: { ...params } }] })
const deploymentOf = (params: Record<string, unknown>) => load({ yaml: model(params) }).deployments[0]

const { privateKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  publicKeyEncoding: { type: 'spki', format: 'pem' },
})
const account = {
  type: 'service_account',
  project_id: 'from-the-key',
  client_email: 'robot@example.iam.gserviceaccount.com',
  private_key: privateKey,
}
const signed = { aws_access_key_id: 'AKIA-CANARY', aws_secret_access_key: 'canary-secret' }

test('limits, prices and timeouts accept LiteLLM’s names and seconds', () => {
  const deployment = deploymentOf({
    model: 'anthropic/x',
    rpm: 60,
    tpm: 100_000,
    max_parallel: 4,
    timeout: 30,
    stream_timeout: 2.5,
    input_cost_per_token: 3e-6,
    output_cost_per_token: 15e-6,
    cache_read_input_token_cost: 3e-7,
    cache_creation_input_token_cost: 3.75e-6,
    deny: ['context_management', 'header:context-management-2025-06-27'],
  })
  assert.deepEqual([deployment?.rpm, deployment?.tpm, deployment?.maxParallel], [60, 100_000, 4])
  assert.deepEqual([deployment?.timeouts.totalMs, deployment?.timeouts.firstByteMs], [30_000, 2_500])
  assert.deepEqual(deployment?.prices, { input: 3e-6, output: 15e-6, cacheRead: 3e-7, cacheWrite5m: 3.75e-6 })
  assert.deepEqual(deployment?.deny, ['context_management', 'header:context-management-2025-06-27'])
})

const routes = [
  [
    'Bedrock in a region, signed',
    { model: 'bedrock/us.anthropic.claude-sonnet-5', aws_region_name: 'us-east-1', ...signed },
    ['bedrock-converse', 'https://bedrock-runtime.us-east-1.amazonaws.com', 'us-east-1'],
  ],
  [
    'Bedrock, Claude as raw bytes',
    { model: 'bedrock/anthropic.claude-x', protocol: 'bedrock-invoke', aws_region_name: 'eu-central-1', ...signed },
    ['bedrock-invoke', 'https://bedrock-runtime.eu-central-1.amazonaws.com', 'eu-central-1'],
  ],
  [
    'Bedrock with an API key, unsigned',
    { model: 'bedrock/x', aws_region_name: 'us-west-2', api_key: 'bedrock-key' },
    ['bedrock-converse', 'https://bedrock-runtime.us-west-2.amazonaws.com', undefined],
  ],
  [
    'Bedrock behind an address that names the region',
    { model: 'bedrock/x', api_base: 'https://vpce-1.bedrock-runtime.eu-west-1.vpce.amazonaws.com', ...signed },
    ['bedrock-converse', 'https://vpce-1.bedrock-runtime.eu-west-1.vpce.amazonaws.com', 'eu-west-1'],
  ],
  [
    'Gemini on Vertex, in the whole world',
    { model: 'vertex/gemini-3-pro', vertex_project: 'p', api_key: 'token' },
    ['gemini', 'https://aiplatform.googleapis.com', 'global'],
  ],
  [
    'Gemini on Vertex, in one region',
    { model: 'vertex/gemini-3-pro', vertex_project: 'p', vertex_location: 'europe-west4', api_key: 'token' },
    ['gemini', 'https://europe-west4-aiplatform.googleapis.com', 'europe-west4'],
  ],
  [
    'Claude on Vertex, on one continent',
    { model: 'vertex/claude-opus-5-5', vertex_project: 'p', vertex_location: 'eu', api_key: 'token' },
    ['vertex-anthropic', 'https://aiplatform.eu.rep.googleapis.com', 'eu'],
  ],
  [
    'Azure at its own address',
    { model: 'azure/gpt', api_base: 'https://r.openai.azure.com/openai/v1/', api_key: 'k' },
    ['openai-responses openai-chat', 'https://r.openai.azure.com/openai/v1', undefined],
  ],
  [
    'a server of two protocols, by the base address of Messages',
    {
      model: 'vllm/x',
      protocols: ['openai-chat', 'anthropic-messages'],
      api_base: 'https://vllm.example/v1/',
      api_key: 'k',
    },
    ['openai-chat anthropic-messages', 'https://vllm.example', undefined],
  ],
  [
    'a server of both of OpenAI’s protocols, by their own base address',
    {
      model: 'openai-compatible/x',
      protocols: ['openai-chat', 'openai-responses'],
      api_base: 'https://vllm.example/v1',
    },
    ['openai-chat openai-responses', 'https://vllm.example/v1', undefined],
  ],
  [
    'OpenAI, pinned',
    { model: 'openai/gpt', protocol: 'openai-chat' },
    ['openai-chat', 'https://api.openai.com/v1', undefined],
  ],
  [
    'OpenRouter, pinned to Chat',
    { model: 'openrouter/x', protocol: 'openai-chat', api_key: 'k' },
    ['openai-chat', 'https://openrouter.ai/api/v1', undefined],
  ],
  [
    'OpenRouter, with its third protocol',
    { model: 'openrouter/x', protocols: ['anthropic-messages', 'openai-chat', 'openai-responses'], api_key: 'k' },
    ['anthropic-messages openai-chat openai-responses', 'https://openrouter.ai/api', undefined],
  ],
] as const

for (const [name, params, expected] of routes) {
  test(`the route of a model: ${name}`, () => {
    const { protocols, apiBase, aws, google } = deploymentOf(params) ?? {}
    assert.deepEqual([protocols?.join(' '), apiBase, aws?.region ?? google?.location], expected)
  })
}

test('a service account is read from a file or from text, and may set the project', () => {
  const path = join(folder, 'account.json')
  writeFileSync(path, JSON.stringify(account))
  for (const vertex_credentials of [path, JSON.stringify(account)]) {
    const { google } = deploymentOf({ model: 'vertex/gemini-3-pro', vertex_credentials }) ?? {}
    assert.equal(google?.project, 'from-the-key')
    assert.deepEqual(google?.serviceAccount, {
      clientEmail: account.client_email,
      privateKey,
      tokenUri: 'https://oauth2.googleapis.com/token',
    })
  }
})

const vertex = { model: 'vertex/gemini-3-pro', vertex_project: 'p' }
const known =
  'must be one of anthropic-messages, openai-chat, openai-responses, gemini, bedrock-converse, bedrock-invoke, vertex-anthropic'
const faults = [
  [
    'a pin and a list',
    { model: 'openai/x', protocol: 'openai-chat', protocols: ['openai-chat'] },
    'protocol and protocols exclude each other; remove one',
  ],
  ['a list of none', { model: 'openai/x', protocols: [] }, 'protocols must name at least one protocol'],
  ['an unknown one in the list', { model: 'openai/x', protocols: ['openai-chat', 'soap'] }, `protocols[1] ${known}`],
  [
    'two total time-outs',
    { model: 'anthropic/x', timeout: 3, timeouts: { total_ms: 3 } },
    'timeout and timeouts.total_ms set the same limit; remove one',
  ],
  [
    'a long life of the cache',
    { model: 'anthropic/x', cache: { ttl: '31d' } },
    'cache.ttl must be a duration of 1s to 30d, such as 1h',
  ],
  [
    'a cache without a time',
    { model: 'anthropic/x', cache: {} },
    'cache.ttl must be a duration of 1s to 30d, such as 1h',
  ],
  [
    'a path that is none',
    { model: 'anthropic/x', deny: ['a b'] },
    'deny[0] must be a path such as output_config.effort, or header:<name of a beta>',
  ],
  ['no region', { model: 'bedrock/x', ...signed }, 'aws_region_name or api_base is required for bedrock'],
  [
    'a region that is a host',
    { model: 'bedrock/x', aws_region_name: 'evil.example/', ...signed },
    'aws_region_name must be the name of a region, such as eu-central-1',
  ],
  [
    'half a signature',
    { model: 'bedrock/x', aws_region_name: 'us-east-1', aws_access_key_id: 'AKIA-CANARY' },
    'aws_secret_access_key is required with the other AWS key',
  ],
  [
    'no credential',
    { model: 'bedrock/x', aws_region_name: 'us-east-1' },
    'api_key, or aws_access_key_id and aws_secret_access_key, is required for bedrock',
  ],
  [
    'two credentials',
    { model: 'bedrock/x', aws_region_name: 'us-east-1', api_key: 'canary-secret', ...signed },
    'api_key and aws_access_key_id exclude each other; remove one',
  ],
  [
    'a region to sign for that nobody names',
    { model: 'bedrock/x', api_base: 'https://proxy.example', ...signed },
    'aws_region_name is required to sign requests',
  ],
  [
    'Amazon’s parameter elsewhere',
    { model: 'anthropic/x', aws_region_name: 'us-east-1' },
    'aws_region_name is only supported for provider bedrock',
  ],
  [
    'Google’s parameter elsewhere',
    { model: 'gemini/x', vertex_project: 'p' },
    'vertex_project is only supported for provider vertex',
  ],
  ['no project', { model: 'vertex/gemini-3-pro', api_key: 'token' }, 'vertex_project is required for vertex'],
  ['no way in', vertex, 'vertex_credentials, or an access token as api_key, is required for vertex'],
  [
    'a file that is not there',
    { ...vertex, vertex_credentials: '/nope/canary-secret.json' },
    'vertex_credentials is neither JSON nor a file that can be read',
  ],
  [
    'text that is no JSON',
    { ...vertex, vertex_credentials: '{"canary-secret' },
    'vertex_credentials is not the JSON of a service account',
  ],
  [
    'the key of a user',
    { ...vertex, vertex_credentials: '{"refresh_token":"canary-secret"}' },
    'vertex_credentials has no client_email: it must be the key of a service account',
  ],
  [
    'a key that is none',
    { ...vertex, vertex_credentials: JSON.stringify({ ...account, private_key: 'canary-secret' }) },
    'vertex_credentials has no private_key in PEM format',
  ],
] as const

for (const [name, params, expected] of faults) {
  test(`${name} stops the start, without a secret in the message`, () => {
    const problems = problemsOf({ yaml: model(params) })
    assert.deepEqual(problems, [`1: model_list[0].params.${expected}`])
    assert.doesNotMatch(problems.join(), /canary/i)
  })
}

test('base_model sets the model and optionally its provider, and capabilities are read', () => {
  const of = (params: object) =>
    deploymentOf({ model: 'azure/ours', api_base: 'https://a.example', api_key: 'k', ...params })
  assert.deepEqual(of({ base_model: 'gpt-5.5' })?.baseModel, { provider: 'azure', model: 'gpt-5.5' })
  assert.deepEqual(of({ base_model: 'openai/gpt-5.5' })?.baseModel, { provider: 'openai', model: 'gpt-5.5' })
  assert.deepEqual(of({ base_model: 'meta-llama/llama-5' })?.baseModel, {
    provider: 'azure',
    model: 'meta-llama/llama-5',
  })
  const capabilities = { reasoning: false, vision: true, context_window: 100_000, max_output_tokens: 8_000 }
  assert.deepEqual(of({ capabilities })?.capabilities, {
    reasoning: false,
    vision: true,
    contextWindow: 100_000,
    maxOutput: 8_000,
  })
  assert.equal(of({})?.capabilities, undefined)
})

const wrongBases: readonly (readonly [object, RegExp])[] = [
  [{ base_model: '' }, /params\.base_model must be "<model>" or "<provider>\/<model>", such as gpt-5\.5$/],
  [{ base_model: 'openai/' }, /params\.base_model must be "<model>"/],
  [{ base_model: 'gpt-*' }, /params\.base_model must name one model without \*$/],
  [{ base_model: 'x'.repeat(301) }, /params\.base_model is longer than 300 characters$/],
  [{ base_model: 5 }, /params\.base_model must be/],
  [{ capabilities: { resoning: true } }, /unknown key .*params\.capabilities\.resoning; did you mean reasoning\?$/],
  [{ capabilities: { vision: 'yes' } }, /params\.capabilities\.vision must be/],
  [
    { capabilities: { context_window: 1_000, max_output_tokens: 2_000 } },
    /params\.capabilities\.max_output_tokens exceeds context_window \(1000\)$/,
  ],
]
for (const [params, problem] of wrongBases) {
  test(`${JSON.stringify(params).slice(0, 80)} is rejected with the field`, () => {
    assert.match(problemsOf({ yaml: model({ model: 'ollama/x', ...params }) })[0] ?? '', problem)
  })
}

const azure = { model: 'azure/ours', api_base: 'https://a.example', api_key: 'k' }
const withInfo = (info: object, params: object = azure) =>
  JSON.stringify({ model_list: [{ model_name: 'm', litellm_params: params, model_info: info }] }, null, 1)

test('log_bodies.until is at most 90 days from now and may be in the past', () => {
  const until = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString()
  const problemsUntil = (days: number) =>
    problemsOf({ yaml: model({ model: 'ollama/x', log_bodies: { until: until(days) } }) })
  assert.match(problemsUntil(91)[0] ?? '', /log_bodies\.until is more than 90 days from now$/)
  for (const days of [89, -1]) assert.deepEqual(problemsUntil(days), [])
})

test('LiteLLM’s model_info may set the base model; its other fields are warnings', () => {
  const { deployments, warnings } = load({ yaml: withInfo({ base_model: 'openai/gpt-5.5', mode: 'chat', id: '1' }) })
  assert.deepEqual(deployments[0]?.baseModel, { provider: 'openai', model: 'gpt-5.5' })
  const ignored = warnings.filter(text => text.includes('model_info'))
  assert.equal(ignored.length, 2)
  assert.match(ignored[0] ?? '', /:\d+: model_list\[0\]\.model_info\.mode is ignored; supported fields: base_model$/)
  assert.equal(load({ yaml: withInfo({ mode: 'embedding' }) }).deployments[0]?.baseModel, undefined)
})

test('a base model of model_info is checked like that of the parameters, and only one may be set', () => {
  const problemOf = (info: object, params?: object) => problemsOf({ yaml: withInfo(info, params) })[0] ?? ''
  assert.match(problemOf({ base_model: 'gpt-*' }), /model_list\[0\]\.model_info\.base_model must name one model/)
  assert.match(problemOf({ base_model: 5 }), /model_info\.base_model must be a string/)
  assert.match(
    problemOf({ base_model: 'gpt-5.5' }, { ...azure, base_model: 'gpt-5.5' }),
    /model_info\.base_model is also set in the parameters; remove one$/,
  )
})
