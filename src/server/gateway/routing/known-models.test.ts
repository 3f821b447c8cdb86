import assert from 'node:assert/strict'
import { test } from 'node:test'
import { knownModels } from './known-models.ts'

test('Anthropic’s models are listed newest first, without retired models and variants', () => {
  const models = knownModels({ provider: 'anthropic', protocols: ['anthropic-messages'] })
  assert.equal(models[0], 'claude-opus-5-5')
  assert.ok(models.indexOf('claude-sonnet-5') < models.indexOf('claude-opus-4-8'))
  assert.ok(models.includes('claude-haiku-4-5'))
  assert.deepEqual(
    models.filter(model => /claude-(2|3|v1)|\d{8}/.test(model)),
    [],
  )
})

const firsts = [
  ['openai', 'openai-responses', /^gpt-6-/],
  ['gemini', 'gemini', /^gemini-3\.8/],
  ['vertex', 'gemini', /^gemini-/],
  ['vertex', 'vertex-anthropic', /^claude-/],
  ['bedrock', 'bedrock-converse', /^global\.anthropic\.claude-opus-5-5$/],
  ['bedrock', 'bedrock-invoke', /anthropic\.claude-/],
  ['openrouter', 'anthropic-messages', /^anthropic\/claude-opus-5\.5$/],
] as const
for (const [provider, protocol, first] of firsts) {
  test(`${provider}/* over ${protocol} begins with the newest: ${first.source}`, () => {
    const models = knownModels({ provider, protocols: [protocol] })
    assert.match(models[0] ?? '', first)
    assert.deepEqual(
      models.filter(model => /embed|image|tts|realtime|audio|:free|:batch/.test(model)),
      [],
    )
  })
}

test('Claude’s models are listed first, since Claude Code shows no others', () => {
  const isClaude = knownModels({ provider: 'openrouter', protocols: ['anthropic-messages'] }).map(id =>
    id.includes('claude'),
  )
  assert.ok(isClaude.includes(false))
  assert.ok(isClaude.lastIndexOf(true) < isClaude.indexOf(false))
})

test('a deployment lists only models that its protocol can call', () => {
  const over = (provider: string, protocol: 'vertex-anthropic' | 'gemini' | 'bedrock-invoke') =>
    knownModels({ provider, protocols: [protocol] }).map(id =>
      id.includes('claude') ? 'claude' : id.includes('gemini') ? 'gemini' : id,
    )
  assert.deepEqual([...new Set(over('vertex', 'vertex-anthropic'))], ['claude'])
  assert.deepEqual([...new Set(over('vertex', 'gemini'))], ['gemini'])
  assert.deepEqual([...new Set(over('bedrock', 'bedrock-invoke'))], ['claude'])
})

test('where the operator chooses the names, no models are listed', () => {
  for (const provider of ['azure', 'ollama', 'openai-compatible', 'switchyard'])
    assert.deepEqual(knownModels({ provider, protocols: ['openai-chat'] }), [])
})
