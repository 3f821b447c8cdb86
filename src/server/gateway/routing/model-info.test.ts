import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deploymentAt, startGatewayApp } from '../../../../test/support/gateway/gateway-app.ts'
import type { ModelInfo } from '../../../contract/models.ts'
import type { Deployment } from '../../config/deployments.ts'

const address = 'http://secret-host.internal:9999'
const at = (id: string, changes: Partial<Deployment>) =>
  deploymentAt(address, { id, alias: id, headers: { 'x-team': 'secret-header' }, ...changes })

const app = await startGatewayApp({
  demo: false,
  deployments: [
    at('best', { upstreamModel: 'claude-opus-5-5' }),
    at('own', { provider: 'openai-compatible', protocols: ['openai-chat'], upstreamModel: 'qwen3' }),
    at('wild', { alias: 'anthropic/*', upstreamModel: '*' }),
  ],
})
test.after(() => app.stop())

const read = async (path: string) => {
  const answer = await fetch(`${app.url}${path}`)
  return { status: answer.status, text: await answer.text() }
}
const infoOf = async (name: string): Promise<ModelInfo | undefined> => {
  const { data } = JSON.parse((await read('/v1/model/info')).text) as { data: ModelInfo[] }
  return data.find(({ model_name }) => model_name === name)
}

test('P2: model info has limits, prices per token and capabilities in LiteLLM’s format', async () => {
  assert.deepEqual(await infoOf('best'), {
    model_name: 'best',
    litellm_params: { model: 'anthropic/claude-opus-5-5' },
    model_info: {
      id: 'best',
      key: 'claude-opus-5-5',
      base_model: null,
      db_model: false,
      max_tokens: 128_000,
      max_input_tokens: 1_000_000,
      max_output_tokens: 128_000,
      input_cost_per_token: 0.000004,
      output_cost_per_token: 0.00002,
      cache_read_input_token_cost: 2e-7,
      cache_creation_input_token_cost: 0.000005,
      cache_creation_input_token_cost_above_1hr: 0.000008,
      litellm_provider: 'anthropic',
      mode: 'chat',
      supports_vision: true,
      supports_function_calling: true,
      supports_tool_choice: true,
      supports_pdf_input: true,
      supports_reasoning: true,
      supports_prompt_caching: true,
    },
  })
})

test('P2: unknown facts of a model are null, never false or 0', async () => {
  const { litellm_params, model_info } = (await infoOf('own')) ?? assert.fail('own is not listed')
  assert.deepEqual([litellm_params.model, model_info.litellm_provider], ['openai/qwen3', 'openai'])
  const { id: _id, key: _key, db_model: _db, litellm_provider: _provider, mode: _mode, ...figures } = model_info
  assert.deepEqual([...new Set(Object.values(figures))], [null])
})

test('P2: every model of a wildcard has an id, and can be read by it', async () => {
  const { text } = await read('/model/info')
  const { data } = JSON.parse(text) as { data: ModelInfo[] }
  assert.equal(new Set(data.map(({ model_info }) => model_info.id)).size, data.length)
  for (const { model_info } of data) {
    const one = await read(`/v1/model/info?litellm_model_id=${encodeURIComponent(model_info.id)}`)
    assert.deepEqual(
      (JSON.parse(one.text) as { data: ModelInfo[] }).data.map(found => found.model_info.id),
      [model_info.id],
    )
  }
  const missing = await read('/v1/model/info?litellm_model_id=nothing')
  assert.equal(missing.status, 400)
  assert.match(missing.text, /"type":"invalid_request_error"/)
})

test('P2: model info contains no address, key or header of a deployment', async () => {
  const { text } = await read('/v1/model/info')
  for (const secret of ['secret-host', 'secret-header', 'sk-provider']) assert.ok(!text.includes(secret), secret)
})
