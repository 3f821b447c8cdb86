import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deploymentAt, targetAt } from '../../../../../test/support/gateway/gateway-app.ts'
import { degradedHeader } from '../../core/degradations.ts'
import { chatClient } from './read-request.ts'

const deployment = deploymentAt('http://127.0.0.1:1')
const hi = { role: 'user', content: 'hi' }
const convert = (request: object, upstreamModel = 'claude-sonnet-4-6') => {
  const context = {
    target: targetAt(deployment, upstreamModel),
    stream: false,
    model: 'm',
    requestId: 'req_1',
    createdAt: 1,
  }
  const { body, degraded } = chatClient({ model: 'm', messages: [hi], ...request }, context)
  // A JSON copy has no recorded paths of parts.
  return { body: JSON.parse(JSON.stringify(body)) as typeof body, degraded: degradedHeader(degraded) }
}
const text = (said: string) => ({ type: 'text', text: said })
const pdf = 'JVBERi0xLjQK'

const messages: readonly (readonly [string, readonly object[], object, string?])[] = [
  [
    'M6: leading system and developer messages become the system prompt, in order',
    [{ role: 'system', content: 'a' }, { role: 'developer', content: [text('b')] }, hi],
    { system: [text('a'), text('b')], messages: [{ role: 'user', content: [text('hi')] }] },
  ],
  [
    'M6: a later system message becomes a tagged part of the user’s turn',
    [hi, { role: 'system', content: 'now' }],
    { messages: [{ role: 'user', content: [text('hi'), text('<system>\nnow\n</system>')] }] },
    'messages.1=moved_to_user',
  ],
  [
    'a request with only instructions sends them as the user',
    [{ role: 'system', content: 'Say hi' }],
    { messages: [{ role: 'user', content: [text('Say hi')] }] },
    'messages=system_as_user',
  ],
  [
    'a conversation that begins with the assistant gets a user turn before it',
    [{ role: 'assistant', content: 'a' }, hi],
    {
      messages: [
        { role: 'user', content: [text('(The conversation so far is not shown.)')] },
        { role: 'assistant', content: [text('a')] },
        { role: 'user', content: [text('hi')] },
      ],
    },
    'messages=user_turn_added',
  ],
  [
    'consecutive turns of one role are merged; blank texts are left out',
    [hi, { role: 'user', content: [text(''), text('you')] }, { role: 'assistant', content: '' }],
    { messages: [{ role: 'user', content: [text('hi'), text('you')] }] },
  ],
  [
    'images by URL and by data',
    [
      {
        role: 'user',
        content: [
          { type: 'image_url', image_url: { url: 'https://x.example/a.png', detail: 'auto' } },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
        ],
      },
    ],
    {
      messages: [
        {
          role: 'user',
          content: [
            { type: 'image', source: { type: 'url', url: 'https://x.example/a.png' } },
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
          ],
        },
      ],
    },
  ],
  [
    'M2: a PDF and a text file',
    [
      {
        role: 'user',
        content: [
          { type: 'file', file: { filename: 'a.pdf', file_data: `data:application/pdf;base64,${pdf}` } },
          { type: 'file', file: { file_data: 'data:text/plain;base64,aGk=' } },
        ],
      },
    ],
    {
      messages: [
        {
          role: 'user',
          content: [
            { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: pdf }, title: 'a.pdf' },
            { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'hi' } },
          ],
        },
      ],
    },
  ],
  [
    'C1: a client’s cache mark is kept',
    [
      {
        role: 'user',
        content: [
          { ...text('a'), cache_control: { type: 'ephemeral', ttl: '1h' } },
          { ...text('b'), prompt_cache_breakpoint: { mode: 'explicit' } },
        ],
      },
    ],
    {
      messages: [
        {
          role: 'user',
          content: [
            { ...text('a'), cache_control: { type: 'ephemeral', ttl: '1h' } },
            { ...text('b'), cache_control: { type: 'ephemeral' } },
          ],
        },
      ],
    },
  ],
]
const call = (id: string, name: string, args: string) => ({ id, type: 'function', function: { name, arguments: args } })
const use = (id: string, name: string, input: object) => ({ type: 'tool_use', id, name, input })
const result = (id: string, said: string) => ({ type: 'tool_result', tool_use_id: id, content: [text(said)] })
const user = { role: 'user', content: [text('hi')] }
const turns: typeof messages = [
  [
    'M4: results come first and together in one user turn',
    [
      hi,
      { role: 'assistant', content: null, tool_calls: [call('c1', 'f', '{"a":1}'), call('c2', 'g', '')] },
      { role: 'tool', tool_call_id: 'c1', content: 'one' },
      { role: 'user', content: 'and?' },
      { role: 'tool', tool_call_id: 'c2', content: '' },
    ],
    {
      messages: [
        user,
        { role: 'assistant', content: [use('c1', 'f', { a: 1 }), use('c2', 'g', {})] },
        { role: 'user', content: [result('c1', 'one'), result('c2', '(no output)'), text('and?')] },
      ],
    },
  ],
  [
    'a late result is moved to its call',
    [
      hi,
      { role: 'assistant', tool_calls: [call('c1', 'f', '{}')] },
      { role: 'user', content: 'wait' },
      { role: 'assistant', content: 'ok' },
      { role: 'tool', tool_call_id: 'c1', content: 'late' },
    ],
    {
      messages: [
        user,
        { role: 'assistant', content: [use('c1', 'f', {})] },
        { role: 'user', content: [result('c1', 'late'), text('wait')] },
        { role: 'assistant', content: [text('ok')] },
      ],
    },
  ],
  [
    'arguments that are not an object are wrapped',
    [hi, { role: 'assistant', tool_calls: [call('c1', 'f', '[1]'), call('c2', 'f', '{"a":')] }],
    {
      messages: [
        user,
        { role: 'assistant', content: [use('c1', 'f', { arguments: '[1]' }), use('c2', 'f', { arguments: '{"a":' })] },
      ],
    },
    'messages.1.tool_calls.0.function.arguments=wrapped, messages.1.tool_calls.1.function.arguments=wrapped',
  ],
  [
    'T13: ids that Anthropic rejects are replaced, equally in call and result',
    [
      hi,
      { role: 'assistant', tool_calls: [call('functions.f:0', 'a.b', '{}')] },
      { role: 'tool', tool_call_id: 'functions.f:0', content: 'r' },
    ],
    {
      messages: [
        user,
        { role: 'assistant', content: [use('functions_f_0_d6bdd4de', 'a.b', {})] },
        { role: 'user', content: [result('functions_f_0_d6bdd4de', 'r')] },
      ],
    },
  ],
  [
    'the older form: function_call and its result',
    [
      hi,
      { role: 'assistant', content: null, function_call: { name: 'f', arguments: '{}' } },
      { role: 'function', name: 'f', content: 'r' },
    ],
    {
      messages: [
        user,
        { role: 'assistant', content: [use('call_messages_1', 'f', {})] },
        { role: 'user', content: [result('call_messages_1', 'r')] },
      ],
    },
  ],
  [
    'thinking without a signature, and names, are dropped and recorded',
    [
      { ...hi, name: 'ann' },
      { role: 'assistant', content: 'a', refusal: 'no', reasoning_content: 'hm' },
    ],
    { messages: [user, { role: 'assistant', content: [text('a'), text('no')] }] },
    'messages.0.name=dropped, messages.1.reasoning_content=dropped',
  ],
]

for (const [guarantee, given, expected, listed] of [...messages, ...turns]) {
  test(guarantee, () => {
    const { body, degraded } = convert({ messages: given })
    assert.deepEqual({ system: body['system'], messages: body['messages'] }, { system: undefined, ...expected })
    assert.equal(degraded, listed)
  })
}
