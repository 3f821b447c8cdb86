import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pixel, startPair, translated } from './setup.ts'

/** A request with an image of a wrong type, a result without its call, two calls of one id and a schema that Gemini lacks. */
interface Client {
  readonly path: string
  readonly body: object
  /** Where the client has what changes: image, orphan, second call, schema. */
  readonly places: Readonly<Record<'image' | 'orphan' | 'call' | 'schema', string>>
}

const wrongType = `data:image/jpeg;base64,${pixel}`
const schema = { type: 'object', properties: { a: { allOf: [{ $ref: '#/gone' }, { type: 'string' }] } } }
const bare = { messages: undefined, max_tokens: undefined }

const clients: Readonly<Record<string, Client>> = {
  chat: {
    path: '/v1/chat/completions',
    body: {
      messages: [
        { role: 'system', content: 'be brief' },
        { role: 'developer', content: 'and kind' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'look' },
            { type: 'image_url', image_url: { url: wrongType } },
          ],
        },
        { role: 'tool', tool_call_id: 'gone', content: 'of an earlier call' },
        call('a'),
        { role: 'tool', tool_call_id: 'a', content: 'first' },
        call('a'),
        { role: 'tool', tool_call_id: 'a', content: 'second' },
      ],
      tools: [{ type: 'function', function: { name: 'look', parameters: schema } }],
    },
    places: {
      image: 'messages.2.content.1',
      orphan: 'messages.3',
      call: 'messages.6.tool_calls.0.id',
      schema: 'tools.0.function.parameters',
    },
  },
  responses: {
    path: '/v1/responses',
    body: {
      ...bare,
      instructions: 'be brief',
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'look' },
            { type: 'input_image', image_url: wrongType },
          ],
        },
        { type: 'function_call_output', call_id: 'gone', output: 'of an earlier call' },
        { type: 'function_call', call_id: 'a', name: 'look', arguments: '{}' },
        { type: 'function_call_output', call_id: 'a', output: 'first' },
        { type: 'function_call', call_id: 'a', name: 'look', arguments: '{}' },
        { type: 'function_call_output', call_id: 'a', output: 'second' },
      ],
      tools: [{ type: 'function', name: 'look', parameters: schema }],
    },
    places: { image: 'input.0.content.1', orphan: 'input.1', call: 'input.4.call_id', schema: 'tools.0.parameters' },
  },
  gemini: {
    path: '/v1beta/models/test-model:generateContent',
    body: {
      ...{ ...bare, model: undefined },
      contents: [
        { role: 'user', parts: [{ text: 'look' }, { inlineData: { mimeType: 'image/jpeg', data: pixel } }] },
        { role: 'model', parts: [{ text: 'so' }] },
        { role: 'user', parts: [{ text: 'and?' }] },
      ],
    },
    // Its reader matches calls and results by itself, and cleans schemas.
    places: { image: 'contents.0.parts.1', orphan: '', call: '', schema: '' },
  },
}

function call(id: string) {
  const made = { id, type: 'function', function: { name: 'look', arguments: '{}' } }
  return { role: 'assistant', content: null, tool_calls: [made] }
}

const actions = {
  image: 'media_type_corrected',
  orphan: 'sent_as_text',
  call: 'made_unique',
  schema: 'simplified',
} as const

for (const [name, { path, body, places }] of Object.entries(clients)) {
  for (const protocol of ['anthropic-messages', ...translated] as const) {
    const isPassthrough = protocol === `openai-${name}` || protocol === name
    if (isPassthrough) continue
    test(`F2, ${protocol}: what changes in a request of a ${name} client is named where the client has it`, async t => {
      const { post } = await startPair(t, protocol, { script: [{}] })
      const response = await post(body, { path })
      assert.equal(response.status, 200, await response.text())
      const degraded = (response.headers.get('x-switchyard-degraded') ?? '').split(', ')
      for (const [what, place] of Object.entries(places)) {
        if (place === '' || (what === 'schema' && protocol !== 'gemini')) continue
        const pair = `${place}=${actions[what as keyof typeof actions]}`
        assert.ok(degraded.includes(pair), `${pair} is not in ${degraded}`)
      }
    })
  }
}

test('F2, openai-chat: what the upstream’s own format cannot hold is named where a responses client has it', async t => {
  const { post } = await startPair(t, 'openai-chat', { script: [{}] })
  const output = [{ type: 'input_image', image_url: wrongType.replace('jpeg', 'png') }]
  const input = [
    { role: 'user', content: 'look' },
    { type: 'function_call', call_id: 'a', name: 'look', arguments: '{}' },
    { type: 'function_call_output', call_id: 'a', output },
  ]
  const response = await post({ ...bare, instructions: 'x', input }, { path: '/v1/responses' })
  assert.equal(response.status, 200, await response.text())
  assert.equal(response.headers.get('x-switchyard-degraded'), 'input.2=image_moved')
})
