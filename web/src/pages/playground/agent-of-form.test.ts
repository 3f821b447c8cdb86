import assert from 'node:assert/strict'
import { test } from 'node:test'
import { agentOfForm } from './agent-of-form.ts'
import { readModels, writeModels } from './columns-address.ts'
import { emptyForm } from './wire/form.ts'
import { exampleTools } from './wire/tools.ts'

const column = { format: 'messages', model: 'm', hasBuiltIns: false } as const

test('an agent gets the settings, the schema and the tools of the form, and no tools of the runtime', () => {
  const form = {
    ...emptyForm,
    system: 's',
    temperature: 1,
    effort: 'high',
    tools: exampleTools,
    schema: '{"type":"object"}',
  }
  const { fields, notes } = agentOfForm({ ...form, thinking: 'adaptive' }, column)
  const [{ name, description, input_schema }] = JSON.parse(exampleTools)
  assert.deepEqual(fields, {
    model: 'm',
    system: 's',
    tools: [
      { type: 'agent_toolset_20260401', default_config: { enabled: false } },
      { type: 'custom', name, description, input_schema },
    ],
    config: {
      model_settings: { max_tokens: 1024, temperature: 1, effort: 'high', thinking: { type: 'adaptive' } },
      output_schema: { type: 'object' },
    },
  })
  assert.deepEqual(notes, [])
})

test('what an agent has no place for is reported', () => {
  const form = { ...emptyForm, tools: '[{"type":"web_search_20250305","name":"web_search"}]', others: '{"top_k":1}' }
  const { notes } = agentOfForm({ ...form, effort: 'minimal' }, { ...column, format: 'chat' })
  assert.deepEqual(notes, [
    'The tool web_search runs at the provider and is left out.',
    'The other fields of the request are left out.',
    'Agents have no effort minimal; the model’s own is used.',
  ])
})

test('names of models with commas and percent signs survive the address', () => {
  const models = ['openai/gpt-5', 'a,b%2C', '']
  assert.deepEqual(readModels(writeModels(models)), models)
  assert.equal(writeModels(['']), undefined)
  assert.deepEqual(readModels(undefined), [''])
})
