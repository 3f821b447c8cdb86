import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RuntimeModel } from '../runtime.ts'
import { modelOf } from './model.ts'

const ids = ['anthropic/sonnet', 'openrouter/meta/llama', 'mine/gpt', 'openai/gpt', 'a/anthropic/sonnet']

const modelAt = (model: string, provider?: string) =>
  modelOf({
    api: { models: async (): Promise<RuntimeModel[]> => ids.map(id => ({ id, display_name: id })) },
    prompt: { model },
    provider,
    context: { signal: AbortSignal.timeout(5_000) },
  })

const table = [
  ['a model with a provider reaches the server as it was named', 'other/new', { providerID: 'other', modelID: 'new' }],
  [
    'a bare name becomes that of the one provider that has it',
    'sonnet',
    { providerID: 'anthropic', modelID: 'sonnet' },
  ],
  [
    'a bare name may hold a slash under our own provider',
    'switchyard/meta/llama',
    { providerID: 'openrouter', modelID: 'meta/llama' },
  ],
  [
    'our own provider before a whole name says nothing',
    'switchyard/sonnet',
    { providerID: 'anthropic', modelID: 'sonnet' },
  ],
  ['the word for any model leaves the choice to the server', 'default', undefined],
] as const

for (const [guarantee, name, expected] of table) {
  test(`C6: ${guarantee}`, async () => assert.deepEqual(await modelAt(name), expected))
}

test('C6: a name that the server does not have is rejected, and never replaced with the server’s own choice', async () => {
  for (const name of ['scripted', 'switchyard/scripted']) {
    await assert.rejects(modelAt(name), {
      message: /scripted" is unknown to the runtime; use one of anthropic\/sonnet,/,
    })
  }
})

test('C6: a bare name of several providers is rejected with their names', async () => {
  await assert.rejects(modelAt('gpt'), { message: 'model "gpt" is ambiguous; use one of mine/gpt, openai/gpt' })
})

test('C6: a server that we start has all models under our provider', async () => {
  assert.deepEqual(await modelAt('a/b', 'switchyard'), { providerID: 'switchyard', modelID: 'a/b' })
})
