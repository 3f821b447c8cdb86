import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Json, listOf, recordOf } from '../../../platform/json.ts'
import { conversation, deploymentOf, sent } from './fixtures.ts'

const user = (...content: Json[]) => ({ role: 'user', content })
const assistant = (...content: Json[]) => ({ role: 'assistant', content })
const text = (said: string) => ({ type: 'text', text: said })
const toolUse = (id: string, input: Json = {}) => ({ type: 'tool_use', id, name: 'ls', input })
const result = (id: string, content?: unknown, more: Json = {}) => ({
  type: 'tool_result',
  tool_use_id: id,
  ...(content !== undefined && { content }),
  ...more,
})
const png = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }
const pngPart = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }
const calls = (...ids: string[]) => ({
  role: 'assistant',
  content: null,
  tool_calls: ids.map(id => ({ id, type: 'function', function: { name: 'ls', arguments: '{}' } })),
})
const tool = (id: string, content: string) => ({ role: 'tool', tool_call_id: id, content })

const table: readonly (readonly [string, readonly Json[], readonly Json[], readonly string[]])[] = [
  ['text is text', [{ role: 'user', content: 'hi' }], [{ role: 'user', content: 'hi' }], []],
  ['several texts of a turn are one string', [user(text('a'), text('b'))], [{ role: 'user', content: 'a\n\nb' }], []],
  [
    'images keep their place between texts',
    [user(text('a'), png, { type: 'image', source: { type: 'url', url: 'https://x.test/i.png' } })],
    [
      {
        role: 'user',
        content: [text('a'), pngPart, { type: 'image_url', image_url: { url: 'https://x.test/i.png' } }],
      },
    ],
    [],
  ],
  [
    'M1: an image in a tool result is sent in a user message after all tool messages',
    [
      assistant(toolUse('a'), toolUse('b')),
      user(result('a', [text('seen'), png]), result('b', 'two'), text('and now?')),
    ],
    [
      calls('a', 'b'),
      tool('a', 'seen\n\n[An image: it is in the next user message]'),
      tool('b', 'two'),
      { role: 'user', content: [text('From the result of tool call a:'), pngPart, text('and now?')] },
    ],
    ['messages.1.content.0=image_moved'],
  ],
  [
    'M2: a PDF becomes a file, with title and context',
    [
      user({
        type: 'document',
        title: 'Plan',
        context: 'Draft',
        source: { type: 'base64', media_type: 'application/pdf', data: 'JVBE' },
      }),
    ],
    [
      {
        role: 'user',
        content: [
          text('Plan\n\nDraft'),
          { type: 'file', file: { filename: 'Plan.pdf', file_data: 'data:application/pdf;base64,JVBE' } },
        ],
      },
    ],
    [],
  ],
  [
    'M2: a PDF in a tool result is moved after it',
    [
      assistant(toolUse('a')),
      user(
        result('a', [{ type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBE' } }]),
      ),
    ],
    [
      calls('a'),
      tool('a', '[A document: it is in the next user message]'),
      {
        role: 'user',
        content: [
          text('From the result of tool call a:'),
          { type: 'file', file: { filename: 'document.pdf', file_data: 'data:application/pdf;base64,JVBE' } },
        ],
      },
    ],
    ['messages.1.content.0=document_moved'],
  ],
  [
    'M2: text documents become text, at top level and in a tool result',
    [
      user({ type: 'document', title: 'T', source: { type: 'text', media_type: 'text/plain', data: 'body' } }),
      assistant(toolUse('a')),
      user(result('a', [{ type: 'document', source: { type: 'content', content: [text('x'), text('y')] } }])),
    ],
    [{ role: 'user', content: 'T\n\nbody' }, calls('a'), tool('a', 'x\n\ny')],
    [],
  ],
  [
    'M2: a PDF by URL is sent as its URL if the upstream fetches no files',
    [user({ type: 'document', source: { type: 'url', url: 'https://x.test/a.pdf' } })],
    [{ role: 'user', content: 'Document: https://x.test/a.pdf' }],
    ['messages.0.content.0=url_sent_as_text'],
  ],
  [
    'search results become text',
    [user({ type: 'search_result', title: 'T', source: 'https://x.test', content: [text('found')] })],
    [{ role: 'user', content: 'T\n\nhttps://x.test\n\nfound' }],
    [],
  ],
  [
    'M3: is_error is stated in text, and an empty result gets a placeholder',
    [
      assistant(toolUse('a'), toolUse('b'), toolUse('c'), toolUse('d')),
      user(
        result('a', 'no such file', { is_error: true }),
        result('b', [], { is_error: true }),
        result('c'),
        result('d', ''),
      ),
    ],
    [
      calls('a', 'b', 'c', 'd'),
      tool('a', 'The tool returned an error:\nno such file'),
      tool('b', 'The tool returned an error.'),
      tool('c', '(no output)'),
      tool('d', '(no output)'),
    ],
    [],
  ],
  [
    'M4: tool results come first and together; text follows',
    [assistant(toolUse('a'), toolUse('b')), user(text('first'), result('a', '1'), text('second'), result('b', '2'))],
    [calls('a', 'b'), tool('a', '1'), tool('b', '2'), { role: 'user', content: 'first\n\nsecond' }],
    [],
  ],
  [
    'M4: tool results are moved to directly after their calls',
    [
      assistant(toolUse('a'), toolUse('b')),
      { role: 'system', content: 'note' },
      user(result('a', '1')),
      user(result('b', '2'), text('go on')),
    ],
    [
      calls('a', 'b'),
      tool('a', '1'),
      tool('b', '2'),
      { role: 'system', content: 'note' },
      { role: 'user', content: 'go on' },
    ],
    [],
  ],
  [
    'M5: assistant text after a tool_use is moved before the calls',
    [assistant(text('a'), toolUse('x', { p: 'ä' }), text('b')), user(result('x', '1'))],
    [
      {
        role: 'assistant',
        content: 'a\n\nb',
        tool_calls: [{ id: 'x', type: 'function', function: { name: 'ls', arguments: '{"p":"ä"}' } }],
      },
      tool('x', '1'),
    ],
    ['messages.0.content.2=moved_before_tool_calls'],
  ],
  [
    'consecutive assistant turns are merged, so that results follow their calls',
    [assistant(toolUse('a')), assistant(text('and'), toolUse('b')), user(result('a', '1'), result('b', '2'))],
    [{ ...calls('a', 'b'), content: 'and' }, tool('a', '1'), tool('b', '2')],
    ['messages.1.content.0=moved_before_tool_calls'],
  ],
  [
    'results follow the calls of a turn of several messages, also after a turn that the user sent in between',
    [
      assistant(toolUse('a')),
      assistant(toolUse('b'), text('and')),
      user(text('wait')),
      user(result('a', '1')),
      user(result('b', '2'), text('go')),
    ],
    [
      { ...calls('a', 'b'), content: 'and' },
      tool('a', '1'),
      tool('b', '2'),
      { role: 'user', content: 'wait' },
      { role: 'user', content: 'go' },
    ],
    ['messages.1.content.1=moved_before_tool_calls'],
  ],
  [
    'M6: a later system message is sent, as string or array',
    [
      { role: 'user', content: 'a' },
      { role: 'system', content: 'one' },
      { role: 'system', content: [text('two'), text('three')] },
    ],
    [
      { role: 'user', content: 'a' },
      { role: 'system', content: 'one' },
      { role: 'system', content: 'two\n\nthree' },
    ],
    [],
  ],
  [
    'K4: thinking without calls is dropped, and no turn is left empty',
    [
      { role: 'user', content: 'a' },
      assistant({ type: 'thinking', thinking: 'hm', signature: 'sealed:x' }, { type: 'redacted_thinking', data: 'x' }),
      user(text('b')),
      assistant({ type: 'thinking', thinking: 'hm', signature: '' }, text('c')),
    ],
    [
      { role: 'user', content: 'a' },
      { role: 'user', content: 'b' },
      { role: 'assistant', content: 'c' },
    ],
    ['messages.1.content.0=dropped', 'messages.1.content.1=dropped', 'messages.3.content.0=dropped'],
  ],
  [
    'K2: reasoning of this provider is sent back with its calls, only in its original field',
    [
      { role: 'user', content: 'a' },
      assistant(
        { type: 'thinking', thinking: 'first', signature: 'sealed:reasoning_content' },
        { type: 'thinking', thinking: 'strange', signature: 'of-somebody-else' },
        { type: 'tool_use', id: 'call_1', name: 'f', input: {} },
      ),
      user({ type: 'tool_result', tool_use_id: 'call_1', content: 'done' }),
      assistant({ type: 'thinking', thinking: 'later', signature: 'sealed:reasoning' }, text('c')),
    ],
    [
      { role: 'user', content: 'a' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } }],
        reasoning_content: 'first',
      },
      { role: 'tool', tool_call_id: 'call_1', content: 'done' },
      { role: 'assistant', content: 'c' },
    ],
    ['messages.1.content.1=dropped', 'messages.3.content.0=dropped'],
  ],
  [
    'blocks without an equivalent are dropped and recorded',
    [
      user(text('a'), { type: 'container_upload', file_id: 'f' }),
      assistant({ type: 'server_tool_use', id: 's', name: 'web_search', input: {} }, text('b')),
    ],
    [
      { role: 'user', content: 'a' },
      { role: 'assistant', content: 'b' },
    ],
    ['messages.0.content.1=dropped', 'messages.1.content.0=dropped'],
  ],
]

for (const [guarantee, messages, expected, degraded] of table) {
  test(guarantee, () => assert.deepEqual(conversation(messages), { messages: expected, degraded }))
}

test('M2: a PDF by URL is sent as a file to OpenRouter', () => {
  const document = { type: 'document', title: 'a.PDF', source: { type: 'url', url: 'https://x.test/a.pdf' } }
  const got = conversation([user(document)], { deployment: deploymentOf('openrouter') })
  const file = { type: 'file', file: { filename: 'a.PDF', file_data: 'https://x.test/a.pdf' } }
  assert.deepEqual(got, { messages: [{ role: 'user', content: [text('a.PDF'), file] }], degraded: [] })
})

test('M6: several system entries are joined in order', () => {
  const system = [text('one'), { ...text('two'), cache_control: { type: 'ephemeral' } }, text('three')]
  const { body, degraded } = sent({ system })
  assert.deepEqual((body['messages'] as Json[])[0], { role: 'system', content: 'one\n\ntwo\n\nthree' })
  assert.deepEqual(degraded, ['system.1.cache_control=dropped'])
  assert.deepEqual((sent({ system: 'one' }).body['messages'] as Json[])[0], { role: 'system', content: 'one' })
})

test('T13: a long id of another provider is shortened, equally in call and result', () => {
  const long = `toolu_${'x'.repeat(60)}`
  const { messages } = conversation([assistant(toolUse(long), toolUse('toolu_1')), user(result(long, '1'))])
  const ids = listOf(messages[0]?.['tool_calls']).map(given => String(recordOf(given)['id']))
  assert.equal(messages[1]?.['tool_call_id'], ids[0])
  assert.ok(ids[0] && ids[0].length <= 40)
  assert.equal(ids[1], 'toolu_1')
})

const refusals: readonly (readonly [unknown, string])[] = [
  ['hi', 'messages.0 must be an object'],
  [{ role: 'tool', content: 'x' }, 'messages.0.role must be user, assistant or system'],
  [{ role: 'user', content: 5 }, 'messages.0.content must be a string or an array of blocks'],
  [{ role: 'assistant' }, 'messages.0.content must be a string or an array of blocks'],
  [user(text('a'), 'b' as unknown as Json), 'messages.0.content.1 must be an object'],
  [
    user({ type: 'image', source: { type: 'file', file_id: 'f' } }),
    'messages.0.content.0.source.type: file is not supported by the provider of this model',
  ],
  [
    user(result('a', [{ type: 'document', source: { type: 'file', file_id: 'f' } }])),
    'messages.0.content.0.content.0.source.type: file is not supported by the provider of this model',
  ],
]
for (const [message, expected] of refusals) {
  test(`an invalid message is rejected with its field: ${expected}`, () => {
    assert.throws(() => sent({ messages: [message] }), { code: 'invalid_request', message: expected })
  })
}
