import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findingsFor } from './findings.ts'

test('a runtime that calls models itself reports the model settings that it does not support', () => {
  const config = { model_settings: { effort: 'low', temperature: 1, top_p: null }, context: { kept_tokens: 1 } }
  assert.deepEqual(findingsFor('builtin', { tools: [], config }), [])
  for (const spec of ['acp', 'opencode', 'cursor', 'claude_managed_agents'] as const)
    assert.deepEqual(findingsFor(spec, { tools: [], config }), [
      { field: 'config.model_settings.effort' },
      { field: 'config.model_settings.temperature' },
      { field: 'config.context.kept_tokens' },
    ])
})
