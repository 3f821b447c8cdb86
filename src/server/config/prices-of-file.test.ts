import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { configReader } from '../../../test/support/service/config-file.ts'

const { folder, load, problemsOf } = configReader()

/** Writes a price list next to the configuration. */
const list = (name: string, content: unknown): string => {
  writeFileSync(join(folder, name), typeof content === 'string' ? content : JSON.stringify(content))
  return name
}
const importing = (...names: string[]) => ({ yaml: `prices:\n  import: [${names.join(', ')}]\n` })

const liteLlm = {
  sample_spec: { litellm_provider: 'one of https://docs', max_tokens: 'prose', input_cost_per_token: 'prose' },
  'claude-opus-9': {
    litellm_provider: 'anthropic',
    mode: 'chat',
    max_input_tokens: 2_000_000,
    max_output_tokens: 256_000,
    input_cost_per_token: 3e-6,
    output_cost_per_token: 1.5e-5,
    cache_read_input_token_cost: 3e-7,
    cache_creation_input_token_cost: 3.75e-6,
    cache_creation_input_token_cost_above_1hr: 6e-6,
    supports_vision: true,
  },
  'gemini/gemini-9-pro': {
    litellm_provider: 'gemini',
    mode: 'chat',
    max_tokens: 8192,
    input_cost_per_token: 1.25e-6,
    input_cost_per_token_above_200k_tokens: 2.5e-6,
    input_cost_per_token_above_200k_tokens_priority: 9e-6,
    input_cost_per_token_batches: 1e-9,
    output_cost_per_token: 1e-5,
    output_cost_per_token_above_200k_tokens: 1.5e-5,
    cache_read_input_token_cost: null,
    input_cost_per_audio_token: 1e-6,
    output_cost_per_audio_token: 2e-5,
  },
  'vertex_ai/claude-opus-9': { litellm_provider: 'vertex_ai-anthropic_models', input_cost_per_token: 1e-6 },
  'eu.amazon.nova-9': { litellm_provider: 'bedrock_converse', input_cost_per_token: 1e-6, output_cost_per_token: 0 },
  'openrouter/qwen/qwen9': { litellm_provider: 'openrouter', input_cost_per_token: 1e-7, output_cost_per_token: 1e-7 },
  'ollama/qwen9': {
    litellm_provider: 'ollama',
    max_input_tokens: 4096,
    input_cost_per_token: 0,
    output_cost_per_token: 0,
  },
  'dall-e-9': { litellm_provider: 'openai', mode: 'image_generation', input_cost_per_token: 1 },
  'another/model': { litellm_provider: 'another', input_cost_per_token: 'odd' },
}

test('LiteLLM’s list is imported: prices per token become prices per million tokens, with tiers', () => {
  const { imported } = load(importing(list('litellm.json', liteLlm))).prices
  assert.deepEqual(imported, {
    'anthropic/claude-opus-9': {
      rates: {
        input: { base: 3, tiers: [] },
        output: { base: 15, tiers: [] },
        cacheRead: { base: 0.3, tiers: [] },
        cacheWrite5m: { base: 3.75, tiers: [] },
        cacheWrite1h: { base: 6, tiers: [] },
      },
      contextWindow: 2_000_000,
      maxOutput: 256_000,
    },
    'gemini/gemini-9-pro': {
      rates: {
        inputAudio: { base: 1, tiers: [] },
        outputAudio: { base: 20, tiers: [] },
        input: { base: 1.25, tiers: [{ above: 200_000, rate: 2.5 }] },
        output: { base: 10, tiers: [{ above: 200_000, rate: 15 }] },
      },
      maxOutput: 8192,
    },
    'vertex/claude-opus-9': { rates: { input: { base: 1, tiers: [] } } },
    'bedrock/eu.amazon.nova-9': { rates: { input: { base: 1, tiers: [] }, output: { base: 0, tiers: [] } } },
    'openrouter/qwen/qwen9': { rates: { input: { base: 0.1, tiers: [] }, output: { base: 0.1, tiers: [] } } },
    'ollama/qwen9': { rates: {}, contextWindow: 4096 },
  })
})

const modelsDev = {
  anthropic: {
    id: 'anthropic',
    models: {
      'claude-opus-9': {
        cost: { input: 2.5, output: 12, cache_read: 0.25, cache_write: 3.125 },
        limit: { context: 2_000_000, output: 256_000 },
      },
    },
  },
  google: {
    id: 'google',
    models: {
      'gemini-9-pro': {
        cost: { input: 2, output: 12, context_over_200k: { input: 4, output: 18 } },
        limit: { context: 1_048_576, output: 65_536 },
      },
      'gemini-9-long': {
        cost: {
          input: 5,
          output: 30,
          tiers: [{ input: 10, output: 45, tier: { type: 'context', size: 272_000 } }, { tier: { type: 'other' } }],
          context_over_200k: { input: 10, output: 45 },
        },
      },
      'gemma-9': { cost: { input: 0, output: 0 }, limit: { context: 0 } },
      'gemini-9-new': {},
    },
  },
  'github-copilot': { models: { 'claude-opus-9': { cost: { input: 0, output: 0 } } } },
}

test('models.dev’s list is imported with both forms of tiers; a price of 0 counts as unknown', () => {
  const { imported } = load(importing(list('models-dev.json', modelsDev))).prices
  assert.deepEqual(imported['anthropic/claude-opus-9']?.rates.cacheWrite5m, { base: 3.125, tiers: [] })
  assert.deepEqual(imported['gemini/gemini-9-pro'], {
    rates: {
      input: { base: 2, tiers: [{ above: 200_000, rate: 4 }] },
      output: { base: 12, tiers: [{ above: 200_000, rate: 18 }] },
    },
    contextWindow: 1_048_576,
    maxOutput: 65_536,
  })
  assert.deepEqual(imported['gemini/gemini-9-long']?.rates.input?.tiers, [{ above: 272_000, rate: 10 }])
  assert.deepEqual([imported['gemini/gemma-9'], imported['gemini/gemini-9-new']], [{ rates: {} }, { rates: {} }])
  assert.equal(Object.keys(imported).length, 5)
})

test('the first list that has a model wins', () => {
  const [first, second] = [list('a.json', modelsDev), list('b.json', liteLlm)]
  const inputOf = (...names: string[]) =>
    load(importing(...names)).prices.imported['anthropic/claude-opus-9']?.rates.input?.base
  assert.deepEqual([inputOf(first, second), inputOf(second, first)], [2.5, 3])
})

test('a missing block imports no list and allows every model', () => {
  assert.deepEqual(load({}).prices, { imported: {}, importedVersion: '', unknown: 'budgeted' })
  assert.equal(load({ yaml: 'prices:\n  unknown: refuse\n' }).prices.unknown, 'refuse')
})

const broken = [
  ['no.json', undefined, 'cannot be read: ENOENT'],
  ['text.json', '{"a":', 'is not valid JSON'],
  ['list.json', [1], 'is not a JSON object'],
  ['other.json', { a: { b: 1 } }, 'is neither a price list of LiteLLM nor one of models.dev'],
  [
    'negative.json',
    { m: { litellm_provider: 'openai', input_cost_per_token: -1 } },
    'has no usable price: m.input_cost_per_token must be a number of 0 or more',
  ],
  [
    'words.json',
    { openai: { models: { m: { cost: { input: '3' } } } } },
    'has no usable price: openai.m.cost.input must be a number of 0 or more',
  ],
] as const
for (const [name, content, reason] of broken) {
  test(`a price list that ${reason} stops the start and is reported with its name`, () => {
    if (content !== undefined) list(name, content)
    assert.deepEqual(problemsOf(importing(name)), [`2: prices.import[0] ${name} ${reason}`])
  })
}

test('other problems of the block are reported with their line', () => {
  assert.deepEqual(problemsOf({ yaml: 'prices:\n  unknown: perhaps\n  import: [1]\n' }), [
    '2: prices.unknown must be refuse or allow',
    '3: prices.import[0] must be a string (put it in quotes)',
  ])
})

test('the version of the imported lists changes with any of the files', () => {
  const versionOf = () => load(importing(list('versioned.json', models))).prices.importedVersion
  let models: object = liteLlm
  const first = versionOf()
  assert.match(first, /^[0-9a-f]{8}$/)
  assert.equal(versionOf(), first)
  models = { ...liteLlm, more: { litellm_provider: 'anthropic', mode: 'chat' } }
  assert.notEqual(versionOf(), first)
})
