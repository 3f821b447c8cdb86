import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Gateway } from '../gateway/gateway.ts'
import { createModelName } from './model-name.ts'

const found = { id: 'known' } as ReturnType<Gateway['find']>
const modelName = createModelName({
  gateway: { find: id => (id === 'openai/gpt' || id === 'demo' ? found : undefined) },
  runtimes: {
    find: async name =>
      new Map<string, { namesProviders?: true }>([
        ['desk', { namesProviders: true }],
        ['cursor', {}],
        ['builtin', {}],
      ]).get(name),
  },
})

const table = [
  ['a model without a provider keeps its name everywhere', { modelID: 'a/b' }, 'desk', 'a/b'],
  ['an empty provider means no provider', { providerID: '', modelID: 'a/b' }, 'desk', 'a/b'],
  [
    'a name with provider that exists in the gateway is used whole',
    { providerID: 'openai', modelID: 'gpt' },
    'builtin',
    'openai/gpt',
  ],
  ['unknown providers are dropped for the gateway', { providerID: 'mine', modelID: 'demo' }, 'builtin', 'demo'],
  ['a runtime that names providers gets the whole name', { providerID: 'a', modelID: 'b/c' }, 'desk', 'a/b/c'],
  ['a runtime that does not gets the name alone', { providerID: 'cursor', modelID: 'gpt-5' }, 'cursor', 'gpt-5'],
  [
    'our own provider means the gateway, on every runtime',
    { providerID: 'switchyard', modelID: 'demo' },
    'desk',
    'demo',
  ],
  ['a missing session gets the name alone', { providerID: 'a', modelID: 'b' }, undefined, 'b'],
  ['a removed runtime gets the name alone', { providerID: 'a', modelID: 'b' }, 'gone', 'b'],
] as const

for (const [guarantee, model, runtime, expected] of table) {
  test(guarantee, async () => assert.equal(await modelName(model, async () => runtime), expected))
}

test('the runtime of a session is not looked up for a name without a provider', async () => {
  const never = () => assert.fail('looked up')
  for (const model of [{ modelID: 'demo' }, { providerID: 'openai', modelID: 'gpt' }]) await modelName(model, never)
  await modelName({ providerID: 'switchyard', modelID: 'scripted' }, never)
})
