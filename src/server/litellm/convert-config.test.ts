import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { parse, stringify } from 'yaml'
import { loadConfig } from '../config/load.ts'
import { convertConfig } from './convert-config.ts'

const folder = mkdtempSync(join(tmpdir(), 'switchyard-litellm-'))
after(() => rmSync(folder, { recursive: true }))

/** The configuration that the service reads from the converted file, with every variable set that it names. */
function loaded(text: string) {
  const configFile = join(folder, 'switchyard.yaml')
  writeFileSync(configFile, text)
  const names = [...text.matchAll(/os\.environ\/(\w+)/g)].map(([, name = '']) => [name, `value-of-${name}`])
  const env = {
    SWITCHYARD_DATA_DIR: folder,
    AZURE_API_BASE: 'https://a.openai.azure.com/openai/v1',
    ...Object.fromEntries(names),
  }
  return loadConfig({
    env: { ...env, AZURE_API_BASE: 'https://a.openai.azure.com/openai/v1' },
    overrides: { configFile },
  })
}

const realistic = `
model_list:
  - model_name: gpt-4o
    litellm_params:
      model: azure/gpt-4o-eu
      api_base: https://eu.openai.azure.com/
      api_key: os.environ/AZURE_API_KEY_EU
      api_version: "2024-08-01-preview"
      rpm: 60
    model_info: { base_model: gpt-4o, mode: chat, id: eu-1 }
  - model_name: gpt-4o
    litellm_params: { model: gpt-4o, api_key: sk-plain-0123456789, weight: 2, temperature: 0.2, tpm: 1000 }
  - model_name: claude
    litellm_params:
      model: bedrock/us-east-1/anthropic.claude-3-5-sonnet-20241022-v2:0
      aws_access_key_id: os.environ/AWS_ID
      aws_secret_access_key: os.environ/AWS_SECRET
  - model_name: anthropic/*
    litellm_params: { model: anthropic/*, api_key: os.environ/ANTHROPIC_API_KEY }
  - model_name: llama
    litellm_params: { model: hosted_vllm/llama-3, api_base: "http://10.0.0.5:8000/v1", max_parallel_requests: 4 }
  - model_name: mixtral
    litellm_params: { model: mistral/open-mixtral }
  - model_name: mine
    litellm_params: { model: openai/my-model, api_base: https://models.example.com/v1, litellm_credential_name: shared }
  - model_name: odd
    litellm_params: { model: sagemaker/x }
credential_list:
  - credential_name: shared
    credential_values: { api_key: sk-plain-0123456789 }
router_settings:
  routing_strategy: usage-based-routing-v2
  num_retries: 3
  allowed_fails: 2
  cooldown_time: 20
  redis_host: os.environ/REDIS_HOST
  model_group_alias: { gpt-4: gpt-4o }
  fallbacks: [{ gpt-4o: [claude] }]
litellm_settings:
  drop_params: true
  request_timeout: 120
  success_callback: [langfuse]
  context_window_fallbacks: [{ gpt-4o: [claude] }]
  default_fallbacks: [llama]
  unknown_setting: 1
general_settings:
  master_key: sk-1234567890-master
  database_url: os.environ/DATABASE_URL
  alerting: [slack]
mcp_servers:
  docs: { url: "https://mcp.example.com/mcp", auth_type: bearer_token, authentication_token: token-of-mcp }
  files: { transport: stdio, command: npx, args: [x] }
environment_variables: { SLACK_WEBHOOK_URL: "https://hooks.example.com/secret" }
guardrails: []
`

test('a realistic file becomes a configuration that loads, with every setting in the report', () => {
  const { text, findings } = convertConfig(realistic)
  const config = loaded(text)
  assert.deepEqual(
    config.deployments.map(({ alias, provider, upstreamModel, apiBase }) => [alias, provider, upstreamModel, apiBase]),
    [
      ['gpt-4o', 'azure', 'gpt-4o-eu', 'https://eu.openai.azure.com/openai/v1'],
      ['gpt-4o', 'openai', 'gpt-4o', 'https://api.openai.com/v1'],
      [
        'claude',
        'bedrock',
        'anthropic.claude-3-5-sonnet-20241022-v2:0',
        'https://bedrock-runtime.us-east-1.amazonaws.com',
      ],
      ['anthropic/*', 'anthropic', '*', 'https://api.anthropic.com'],
      ['llama', 'openai-compatible', 'llama-3', 'http://10.0.0.5:8000/v1'],
      ['mixtral', 'openai-compatible', 'open-mixtral', 'https://api.mistral.ai/v1'],
      ['mine', 'openai-compatible', 'my-model', 'https://models.example.com/v1'],
      ['gpt-4', 'azure', 'gpt-4o-eu', 'https://eu.openai.azure.com/openai/v1'],
      ['gpt-4', 'openai', 'gpt-4o', 'https://api.openai.com/v1'],
    ],
  )
  const { retries, cooldown, fallbacks, contextWindowFallbacks } = config.router
  assert.deepEqual([retries, cooldown.failures, cooldown.outMs], [3, 3, 20_000])
  assert.deepEqual([fallbacks['gpt-4o'], fallbacks['mixtral']], [['claude'], ['llama']])
  assert.deepEqual(contextWindowFallbacks, { 'gpt-4o': ['claude'] })
  assert.equal(config.deployments[1]?.timeouts.totalMs, 120_000)
  assert.deepEqual(
    config.mcpServers.map(({ serverName }) => serverName),
    ['docs'],
  )
  assert.deepEqual(config.outboundAllow, ['10.0.0.5:8000'])

  const stateOf = (setting: string) => findings.find(finding => finding.setting === setting)?.state
  const expected = {
    'model_list[7].litellm_params.model': 'unsupported',
    'model_list[0].litellm_params.api_version': 'approximated',
    'model_list[1].litellm_params.temperature': 'unsupported',
    'router_settings.routing_strategy': 'approximated',
    'router_settings.redis_host': 'carried',
    'litellm_settings.drop_params': 'carried',
    'litellm_settings.success_callback': 'unsupported',
    'litellm_settings.unknown_setting': 'unsupported',
    'general_settings.database_url': 'approximated',
    'general_settings.alerting': 'unsupported',
    'mcp_servers.files': 'unsupported',
    environment_variables: 'unsupported',
    guardrails: 'unsupported',
  }
  for (const [setting, state] of Object.entries(expected)) assert.equal(stateOf(setting), state, setting)
  for (const { state, next, setting } of findings) if (state === 'unsupported') assert.ok(next, setting)
})

test('credentials in plain text become variables, in neither the file nor the report', () => {
  const { text, findings } = convertConfig(realistic)
  for (const secret of ['sk-plain-0123456789', 'sk-1234567890-master', 'token-of-mcp', 'hooks.example.com'])
    assert.ok(!`${text}${JSON.stringify(findings)}`.includes(secret), secret)
  const { model_list: models } = parse(text) as { model_list: { params: { api_key?: string } }[] }
  const [, openai, , , , , mine] = models
  assert.equal(openai?.params.api_key, 'os.environ/GPT_4O_API_KEY')
  assert.equal(mine?.params.api_key, openai?.params.api_key)
})

test('an empty list of models and a file that is no mapping', () => {
  assert.deepEqual(convertConfig('model_list: []').findings, [])
  for (const source of ['- a', 'text', 'a: [', ''])
    assert.throws(() => convertConfig(source), { code: 'invalid_request' }, source)
})

const names = [
  ['claude-3-haiku', undefined, 'anthropic/claude-3-haiku'],
  ['gemini-1.5-pro', undefined, 'vertex/gemini-1.5-pro'],
  ['bedrock/invoke/anthropic.claude-v2', undefined, 'bedrock/anthropic.claude-v2'],
  ['ollama_chat/llama3', undefined, 'ollama/llama3'],
  ['openrouter/google/palm', undefined, 'openrouter/google/palm'],
  ['my-model', 'groq', 'openai-compatible/my-model'],
  ['anthropic.claude-3-sonnet-20240229-v1:0', undefined, 'bedrock/anthropic.claude-3-sonnet-20240229-v1:0'],
] as const
for (const [model, provider, expected] of names) {
  test(`${model} is served by ${expected}`, () => {
    const params = { model, ...(provider && { custom_llm_provider: provider }) }
    const { text } = convertConfig(JSON.stringify({ model_list: [{ model_name: 'm', litellm_params: params }] }))
    assert.equal((parse(text) as { model_list: { params: { model: string } }[] }).model_list[0]?.params.model, expected)
  })
}

test('addresses that are not public are listed for outbound calls, by the rules of the service', () => {
  const bases = [
    'https://[fd00::1]:8443/v1',
    'https://169.254.10.1',
    'https://models.internal/v1',
    'https://[::ffff:10.0.0.1]',
    'http://models.example.com/v1',
    'https://models.example.com/v1',
  ]
  const entries = bases.map((api_base, at) => ({
    model_name: `m${at}`,
    litellm_params: { model: 'openai/m', api_base, api_key: 'os.environ/KEY' },
  }))
  const { outbound } = parse(convertConfig(stringify({ model_list: entries })).text)
  assert.deepEqual(outbound.allow, [
    '[fd00::1]:8443',
    '169.254.10.1:443',
    'models.internal:443',
    '[::ffff:a00:1]:443',
    'models.example.com:80',
  ])
})
