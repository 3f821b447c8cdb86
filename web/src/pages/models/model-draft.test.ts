import assert from 'node:assert/strict'
import { test } from 'node:test'
import { objectIn } from '../../data/json.ts'
import { draftOf, emptyModel, modelWrite } from './model-draft.ts'

const stored = {
  model_name: 'fast',
  params: {
    model: 'openrouter/meta/llama-4',
    api_key: '…wxyz',
    rpm: 60,
    input_cost_per_token: 0.0000003,
    timeouts: { total_ms: 1000 },
    base_model: 'llama-4',
  },
}

test('a new model sends the parameters that were filled in', () => {
  const draft = { ...emptyModel, model_name: ' opus ', provider: 'anthropic', upstream: 'claude-opus-5', input_cost: 5 }
  assert.deepEqual(modelWrite(draft, emptyModel), {
    model_name: 'opus',
    params: { model: 'anthropic/claude-opus-5', input_cost_per_token: 0.000005 },
  })
})

test('an unchanged model sends nothing, and its masked key is never sent', () => {
  const draft = draftOf(stored)
  assert.equal(draft.api_key, '')
  assert.deepEqual([draft.provider, draft.upstream, draft.input_cost], ['openrouter', 'meta/llama-4', 0.3])
  assert.deepEqual(modelWrite(draft, draft), {})
})

test('a changed model sends what changed; emptied parameters are null, also of the JSON', () => {
  const before = draftOf(stored)
  const after = { ...before, rpm: '' as const, api_key: 'sk-1', others: '{"base_model": "x"}' }
  assert.deepEqual(modelWrite(after, before), {
    params: { rpm: null, api_key: 'sk-1', timeouts: null, base_model: 'x' },
  })
})

test('other parameters are a JSON object', () => {
  assert.deepEqual(objectIn(''), {})
  for (const wrong of ['{', '[]', '3']) assert.equal(objectIn(wrong), undefined)
})
