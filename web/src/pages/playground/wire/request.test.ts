import assert from 'node:assert/strict'
import { test } from 'node:test'
import { emptyForm, type Format, type PlaygroundForm, type Turn } from './form.ts'
import { loadForm } from './load-form.ts'
import { bodyOf, formProblem, leftOut } from './request.ts'
import { exampleTools } from './tools.ts'

const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aGk=' } }

const turns: readonly Turn[] = [
  { id: '1', role: 'user', content: [{ type: 'text', text: 'What is this?' }, image] },
  {
    id: '2',
    role: 'assistant',
    content: [
      { type: 'text', text: 'Let me see.' },
      { type: 'tool_use', id: 'call_1', name: 'get_weather', input: { city: 'Berlin' } },
    ],
  },
  { id: '3', role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_1', content: '12 C' }] },
]

const form: PlaygroundForm = {
  ...emptyForm,
  system: 'Be brief.',
  turns,
  temperature: 0.5,
  effort: 'low',
  tools: exampleTools,
  schema: '{"type":"object"}',
  others: '{"top_p":0.9}',
}

test('a request in Messages has the form in the words of Messages', () => {
  const body = bodyOf({ ...form, thinking: 'enabled', thinkingBudget: 2000 }, 'messages', 'claude')
  assert.deepEqual(body, {
    top_p: 0.9,
    model: 'claude',
    max_tokens: 1024,
    system: 'Be brief.',
    messages: turns.map(({ role, content }) => ({ role, content })),
    temperature: 0.5,
    thinking: { type: 'enabled', budget_tokens: 2000 },
    output_config: { effort: 'low', format: { type: 'json_schema', schema: { type: 'object' } } },
    tools: JSON.parse(exampleTools),
    stream: true,
  })
})

test('a request in Chat Completions has images, calls and results as messages of a chat', () => {
  const { messages, tools, response_format: format, ...rest } = bodyOf(form, 'chat', 'gpt')
  assert.deepEqual(messages, [
    { role: 'system', content: 'Be brief.' },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'What is this?' },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,aGk=' } },
      ],
    },
    {
      role: 'assistant',
      content: 'Let me see.',
      tool_calls: [
        { id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Berlin"}' } },
      ],
    },
    { role: 'tool', tool_call_id: 'call_1', content: '12 C' },
  ])
  const [{ name, description, input_schema: parameters }] = JSON.parse(exampleTools)
  assert.deepEqual(tools, [{ type: 'function', function: { name, description, parameters } }])
  assert.deepEqual(format, {
    type: 'json_schema',
    json_schema: { name: 'answer', schema: { type: 'object' }, strict: true },
  })
  assert.deepEqual(rest, {
    top_p: 0.9,
    model: 'gpt',
    max_completion_tokens: 1024,
    temperature: 0.5,
    reasoning_effort: 'low',
    stream_options: { include_usage: true },
    stream: true,
  })
})

test('a request in Responses has its turns as items, and is not stored', () => {
  const { input, store, reasoning, text } = bodyOf(form, 'responses', 'gpt')
  assert.deepEqual(input, [
    {
      role: 'user',
      content: [
        { type: 'input_text', text: 'What is this?' },
        { type: 'input_image', image_url: 'data:image/png;base64,aGk=' },
      ],
    },
    { role: 'assistant', content: [{ type: 'output_text', text: 'Let me see.' }] },
    { type: 'function_call', call_id: 'call_1', name: 'get_weather', arguments: '{"city":"Berlin"}' },
    { type: 'function_call_output', call_id: 'call_1', output: '12 C' },
  ])
  assert.deepEqual({ store, reasoning }, { store: false, reasoning: { effort: 'low' } })
  assert.deepEqual(text, { format: { type: 'json_schema', name: 'answer', schema: { type: 'object' }, strict: true } })
})

test('other fields join objects of the form, and cannot repeat a field', () => {
  const joined = { ...form, others: '{"output_config":{"task_budget":5}}' }
  const { output_config: config } = bodyOf(joined, 'messages', 'claude')
  assert.deepEqual(Object.keys(config as object), ['task_budget', 'effort', 'format'])
  assert.equal(formProblem(joined, 'messages'), undefined)
  const doubled = { ...form, others: '{"temperature":1}' }
  assert.equal(formProblem(doubled, 'messages'), 'Other fields: temperature already is a field of the form')
  assert.equal(formProblem({ ...doubled, temperature: undefined }, 'messages'), undefined)
})

const problems: readonly (readonly [name: string, Partial<PlaygroundForm>, Format, RegExp])[] = [
  ['an empty conversation', { turns: emptyForm.turns }, 'messages', /Write a message/],
  ['tools that are no JSON', { tools: '[{' }, 'messages', /^Tools: not JSON/],
  ['tools that are no list', { tools: '{}' }, 'messages', /^Tools: tools are a JSON list/],
  ['a schema that is a list', { schema: '[]' }, 'chat', /^Schema of the answer: /],
  ['Messages without a maximum', { maxTokens: undefined }, 'messages', /maximum of output tokens/],
  [
    'a document outside of Messages',
    { turns: [{ id: '1', role: 'user', content: [{ type: 'document' }] }] },
    'chat',
    /^Turn 1 has a block of type document/,
  ],
]
for (const [name, changes, format, expected] of problems) {
  test(`${name} cannot be sent`, () => assert.match(formProblem({ ...form, ...changes }, format) ?? '', expected))
}

test('thinking is sent as Messages, and reported where a format leaves it out', () => {
  const thought: PlaygroundForm = {
    ...emptyForm,
    turns: [{ id: '1', role: 'assistant', content: [{ type: 'thinking', thinking: 'hm', signature: 's' }] }],
  }
  assert.equal(leftOut(thought, 'messages'), undefined)
  assert.match(leftOut(thought, 'chat') ?? '', /leave out the thinking in turn 1/)
})

for (const format of ['messages', 'chat', 'responses'] as const) {
  test(`a recorded request of ${format} fills the form that made it`, () => {
    const body = JSON.stringify(bodyOf(form, format, 'm,1'))
    const loaded = loadForm({ body, truncated: false }, { body: null, truncated: false }, emptyForm)
    assert.equal(loaded.format, format)
    assert.equal(loaded.model, 'm,1')
    assert.deepEqual(loaded.notes, [])
    assert.equal(formProblem(loaded.form, format), undefined)
    assert.deepEqual(bodyOf(loaded.form, format, 'm,1'), JSON.parse(body))
  })
}

test('a recorded request that is cut, or of another format, is rejected with the reason', () => {
  const none = { body: null, truncated: false }
  assert.throws(() => loadForm({ body: '{"model"', truncated: true }, none, emptyForm), /longer than the 256 KB/)
  assert.throws(() => loadForm({ body: '{"contents":[]}', truncated: false }, none, emptyForm), /another format/)
  const embedding = { body: '{"model":"e","input":"a","dimensions":3}', truncated: false }
  assert.throws(() => loadForm(embedding, none, emptyForm), /another format/)
})

test('what a recorded request loses in the form is reported', () => {
  const request = {
    model: 'gpt',
    messages: [
      {
        role: 'user',
        content: [
          { type: 'input_audio', input_audio: {} },
          { type: 'text', text: 'hi' },
        ],
      },
      { role: 'system', content: 'late' },
    ],
    seed: 7,
  }
  const answer = { body: '{"object":"chat.completion"}', truncated: false }
  const { form: filled, notes } = loadForm({ body: JSON.stringify(request), truncated: false }, answer, emptyForm)
  assert.deepEqual(notes, [
    'Content of type input_audio is left out.',
    'System messages in the middle of the conversation are left out.',
  ])
  assert.deepEqual(JSON.parse(filled.others), { seed: 7 })
})
