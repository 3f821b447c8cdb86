import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deploymentAt } from '../../../../test/support/gateway/gateway-app.ts'
import type { Deployment } from '../../config/deployments.ts'
import { demoDeployment } from '../demo/demo-adapter.ts'
import { createPriceBook } from '../pricing/price-book.ts'
import { createCatalogue } from './known-models.ts'
import { createModelList } from './model-list.ts'

const at = (changes: Partial<Deployment>) => deploymentAt('http://x', changes)
const prices = createPriceBook({ imported: {}, now: () => new Date('2026-11-21T12:00:00Z') })

const configuredAt = Date.UTC(2026, 10, 21, 10) / 1_000

const listOf = (deployments: readonly Deployment[]) =>
  createModelList({
    catalogue: createCatalogue(deployments),
    prices,
    isServed: ({ protocols: [first] }) => first !== 'gemini',
    since: () => configuredAt,
  })

test('an alias is described by the model behind it', () => {
  const list = listOf([at({ alias: 'best', upstreamModel: 'claude-opus-5-5' })])
  assert.deepEqual(list.find('best'), {
    id: 'best',
    object: 'model',
    type: 'model',
    display_name: 'Claude Opus 5.5',
    created: configuredAt,
    created_at: '2026-11-21T10:00:00Z',
    owned_by: 'anthropic',
    context_window: 1_000_000,
    max_output_tokens: 128_000,
    pricing: { input: 4, output: 20, cache_read: 0.2, cache_write_5m: 5, cache_write_1h: 8, source: 'catalogue' },
  })
})

test('B4: the price of a model without a known price is null, never 0', () => {
  const list = listOf([
    at({ alias: 'local', provider: 'ollama', upstreamModel: 'qwen3' }),
    at({ alias: 'ollama/*', provider: 'ollama', upstreamModel: '*' }),
    at({ alias: 'anthropic/*', upstreamModel: '*' }),
  ])
  for (const id of ['local', 'ollama/llama4', 'anthropic/claude-unheard-of']) assert.equal(list.find(id)?.pricing, null)
  assert.deepEqual(
    list.all.filter(({ pricing }) => pricing?.input === 0 || pricing?.output === 0),
    [],
  )
})

test('the demo model has price 0, with its source', () => {
  const { pricing } = listOf([demoDeployment]).find('demo') ?? {}
  assert.deepEqual([pricing?.input, pricing?.output, pricing?.source], [0, 0, 'config'])
})

test('a wildcard is listed as the provider’s models, under names that can be called', () => {
  const catalogue = createCatalogue([
    at({ alias: 'anthropic/*', upstreamModel: '*' }),
    at({ alias: 'or/*', provider: 'openrouter', upstreamModel: 'anthropic/*' }),
  ])
  const { all } = createModelList({ catalogue, prices, isServed: () => true, since: () => configuredAt })
  assert.equal(all[0]?.id, 'anthropic/claude-opus-5-5')
  assert.equal(all.find(({ owned_by }) => owned_by === 'openrouter')?.id, 'or/claude-opus-5.5')
  assert.equal(catalogue.resolve('or/claude-opus-5.5')[0]?.upstreamModel, 'anthropic/claude-opus-5.5')
  assert.deepEqual(
    all.filter(({ pricing, context_window }) => pricing === null || context_window === undefined),
    [],
  )
})

test('the first deployment describes the model; deployments that cannot serve are not listed', () => {
  const list = listOf([
    at({ alias: 'm', provider: 'gemini', protocols: ['gemini'], upstreamModel: 'gemini-3-pro-preview' }),
    at({ alias: 'm', upstreamModel: 'claude-haiku-4-5' }),
    at({ alias: 'm', upstreamModel: 'claude-opus-5-5' }),
    at({ alias: 'n', provider: 'gemini', protocols: ['gemini'], upstreamModel: 'gemini-3-pro-preview' }),
  ])
  assert.equal(list.find('m')?.pricing?.input, 1)
  assert.deepEqual([list.all.length, list.find('n'), list.find('unknown')], [1, undefined, undefined])
})

test('E1: a model is dated by its name, else by when it was configured', () => {
  const list = listOf([
    at({ alias: 'dated', upstreamModel: 'claude-sonnet-4-5-20250929' }),
    at({ alias: 'dashed', provider: 'openai', upstreamModel: 'gpt-4o-2024-08-06' }),
    at({ alias: 'no-date', upstreamModel: 'model-20251350' }),
    at({ alias: 'anthropic/*', upstreamModel: '*' }),
  ])
  const created = (id: string) => list.find(id)?.created_at
  assert.deepEqual(['dated', 'dashed', 'no-date', 'anthropic/claude-haiku-4-5-20251001'].map(created), [
    '2025-09-29T00:00:00Z',
    '2024-08-06T00:00:00Z',
    '2026-11-21T10:00:00Z',
    '2025-10-01T00:00:00Z',
  ])
})

test('E1: a wildcard for one model serves any matching name, and is not listed', () => {
  const deployments = [at({ alias: 'claude-*', provider: 'ollama', upstreamModel: 'qwen3' })]
  const catalogue = createCatalogue(deployments)
  assert.deepEqual(
    catalogue.resolve('claude-opus-5').map(({ upstreamModel }) => upstreamModel),
    ['qwen3'],
  )
  const list = listOf([...deployments, at({ alias: 'local/*', provider: 'ollama', upstreamModel: 'qwen3' })])
  assert.deepEqual([list.ids, list.find('claude-x')?.id], [[], 'claude-x'])
})
