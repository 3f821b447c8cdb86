import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Deployment } from '../../../../src/contract/deployments.ts'
import type { ModelSetting } from '../../../../src/contract/model-settings.ts'
import { healthOf, matching, modelRows, priceWords, upstreamOf } from './model-rows.ts'

const deployment: Deployment = {
  id: 'dep_1',
  state: 'healthy',
  cooling_until: null,
  last_error: null,
  calls: 0,
  model_name: 'opus',
  provider: 'anthropic',
  upstream_model: 'claude-opus-5',
  protocols: ['anthropic-messages'],
  weight: 1,
  is_scripted: false,
  cooldown_ms: 0,
  last_error_at: null,
  context_window: null,
  max_output_tokens: null,
  pricing: null,
}
const setting: ModelSetting = {
  id: 'dep_1',
  model_name: 'opus',
  params: { model: 'anthropic/claude-opus-5' },
  source: 'api',
  locked: false,
  error: null,
  created_by: 'master',
  created_at: null,
  updated_at: null,
}
const broken = { ...setting, id: 'dep_2', model_name: 'fast', params: { model: 'openai/gpt-5.5' }, error: 'no key' }

test('settings and deployments are joined by id; settings that serve no calls come first', () => {
  const demo = { ...deployment, id: 'demo', model_name: 'demo', is_scripted: true }
  const rows = modelRows([setting, broken], [deployment, demo])
  assert.deepEqual(
    rows.map(({ id, setting: found, deployment: served }) => [id, found?.id, served?.id]),
    [
      ['dep_2', 'dep_2', undefined],
      ['dep_1', 'dep_1', 'dep_1'],
      ['demo', undefined, 'demo'],
    ],
  )
  assert.deepEqual(rows.map(upstreamOf), ['openai/gpt-5.5', 'anthropic/claude-opus-5', 'scripted answers'])
  assert.deepEqual(
    matching(rows, 'GPT').map(({ id }) => id),
    ['dep_2'],
  )
})

const now = Date.parse('2026-11-26T12:00:00Z')
const rowWith = (changes: Partial<Deployment>) => ({
  id: 'dep_1',
  model_name: 'opus',
  setting,
  deployment: { ...deployment, ...changes },
})

test('health names the time that is left of a cooldown, and why a model serves no calls', () => {
  const cooling = rowWith({ state: 'cooling', cooling_until: '2026-11-26T12:00:13.400Z' })
  assert.deepEqual(healthOf(cooling, now), { state: 'waiting', word: 'cooling down', detail: '14 s' })
  assert.equal(healthOf(cooling, now + 60_000).detail, '0 ms')
  assert.equal(healthOf(rowWith({}), now).word, 'healthy')
  const off = { id: 'dep_2', model_name: 'fast', setting: broken, deployment: undefined }
  assert.deepEqual(healthOf(off, now), { state: 'failed', word: 'serves no calls', detail: 'no key' })
})

test('prices are per million tokens; an unknown price is "unknown"', () => {
  assert.equal(priceWords({ input: 5, output: 25 }), '$5 / $25')
  assert.equal(priceWords({ input: 0.075, output: null }), '$0.075 / unknown')
  assert.equal(priceWords(null), 'unknown')
})
