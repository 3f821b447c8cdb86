import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Normalizer } from './normalize.ts'

type Update = Readonly<Record<string, unknown>>

const chunk = (text: string, more: Update = {}): Update => ({
  sessionUpdate: 'agent_message_chunk',
  content: { type: 'text', text },
  ...more,
})
const thought = (text: string): Update => ({ ...chunk(text), sessionUpdate: 'agent_thought_chunk' })
const call = (fields: Update = {}): Update => ({ sessionUpdate: 'tool_call', toolCallId: 'c1', title: 'T', ...fields })
const change = (fields: Update): Update => ({ sessionUpdate: 'tool_call_update', toolCallId: 'c1', ...fields })
const begun = { kind: 'execute', rawInput: { command: 'ls' }, status: 'in_progress' }

/** Summary of the events of a turn with these updates. */
function told(updates: readonly Update[]): unknown[] {
  let ids = 0
  const normalizer = new Normalizer(() => `e${++ids}`)
  const events = updates.flatMap(update => normalizer.take(update).events)
  return [...events, ...normalizer.end('cut off')].map(({ type, ...event }) => {
    const content = (event['content'] ?? []) as Record<string, unknown>[]
    const text = content.map(block => block['text'] ?? block['thinking']).join()
    if (type === 'agent.tool_use') return ['use', event['tool_use_id'], event['name'], event['input']]
    if (type === 'agent.tool_result') return ['result', event['tool_use_id'], text, event['is_error']]
    if (type === 'session.usage') return ['usage', event['usage'], event['cost_usd']]
    if (type === 'session.updated') return ['title', event['title']]
    return [type.replace('agent.', ''), text]
  })
}

const use = ['use', 'c1', 'execute', { command: 'ls' }]
const text = (content: string) => [{ type: 'content', content: { type: 'text', text: content } }]

const table: readonly [guarantee: string, updates: readonly Update[], expected: readonly unknown[]][] = [
  ['chunks are joined to one message', [chunk('a'), chunk('b')], [['message', 'ab']]],
  [
    'another message id begins another message',
    [chunk('a', { messageId: '1' }), chunk('b', { messageId: '2' })],
    [
      ['message', 'a'],
      ['message', 'b'],
    ],
  ],
  [
    'thoughts are told apart from messages',
    [thought('hm'), thought('.'), chunk('a')],
    [
      ['thinking', 'hm.'],
      ['message', 'a'],
    ],
  ],
  ['what the user said is not repeated', [{ ...chunk('me'), sessionUpdate: 'user_message_chunk' }], []],
  ['blank text is no message', [chunk(' \n')], []],
  [
    'a call without input is told once it runs',
    [call(), change({ status: 'in_progress' }), change({ status: 'completed' })],
    [
      ['use', 'c1', 'T', {}],
      ['result', 'c1', '', false],
    ],
  ],
  [
    'input that comes later is part of the call',
    [
      call({ kind: 'execute', rawInput: {} }),
      change({ rawInput: { command: 'ls' } }),
      change({ status: 'completed', content: text('out') }),
    ],
    [use, ['result', 'c1', 'out', false]],
  ],
  [
    'a name beats a kind, and a kind beats a title',
    [call({ ...begun, name: 'bash' })],
    [
      ['use', 'c1', 'bash', { command: 'ls' }],
      ['result', 'c1', 'cut off', true],
    ],
  ],
  [
    'a call that failed is an error',
    [call(begun), change({ status: 'failed', content: text('no') })],
    [use, ['result', 'c1', 'no', true]],
  ],
  [
    'without content the raw output counts',
    [call(begun), change({ status: 'completed', rawOutput: { exit: 0 } })],
    [use, ['result', 'c1', '{"exit":0}', false]],
  ],
  [
    'a raw output that is text stays as it is',
    [call(begun), change({ status: 'completed', rawOutput: 'plain' })],
    [use, ['result', 'c1', 'plain', false]],
  ],
  [
    'a diff is shown line by line',
    [
      call(begun),
      change({ status: 'completed', content: [{ type: 'diff', path: '/w/a', oldText: 'x', newText: 'y\nz' }] }),
    ],
    [use, ['result', 'c1', '/w/a\n-x\n+y\n+z', false]],
  ],
  [
    'content that came earlier is kept',
    [call({ ...begun, content: text('early') }), change({ status: 'completed' })],
    [use, ['result', 'c1', 'early', false]],
  ],
  [
    'a call that is complete at once is told whole',
    [call({ ...begun, status: 'completed', rawOutput: 'ok' })],
    [use, ['result', 'c1', 'ok', false]],
  ],
  [
    'a call ends once',
    [call(begun), change({ status: 'completed' }), change({ status: 'failed' })],
    [use, ['result', 'c1', '', false]],
  ],
  [
    'text before a call comes before it',
    [chunk('look'), call(begun), change({ status: 'completed' }), chunk('done')],
    [['message', 'look'], use, ['result', 'c1', '', false], ['message', 'done']],
  ],
  [
    'a call that was announced with its input is told when text follows',
    [call({ ...begun, status: 'pending' }), chunk('a')],
    [use, ['message', 'a'], ['result', 'c1', 'cut off', true]],
  ],
  [
    'parallel calls keep their results',
    [
      call(begun),
      call({ ...begun, toolCallId: 'c2' }),
      { ...change({ status: 'completed', rawOutput: 'two' }), toolCallId: 'c2' },
      change({ status: 'completed', rawOutput: 'one' }),
    ],
    [use, ['use', 'c2', 'execute', { command: 'ls' }], ['result', 'c2', 'two', false], ['result', 'c1', 'one', false]],
  ],
  [
    'an end without any call is an own call',
    [change({ status: 'completed', rawOutput: 'x', title: 'Late' })],
    [
      ['use', 'c1', 'Late', {}],
      ['result', 'c1', 'x', false],
    ],
  ],
  [
    'usage is told once, as it was last',
    [
      { sessionUpdate: 'usage_update', used: 1, size: 9 },
      { sessionUpdate: 'usage_update', used: 5, size: 9, cost: { amount: 0.5, currency: 'USD' } },
    ],
    [['usage', { context_tokens: 5, context_window: 9 }, 0.5]],
  ],
  ['a title is told', [{ sessionUpdate: 'session_info_update', title: 'Work' }], [['title', 'Work']]],
  [
    'plans, notices, compactions, commands and what is unknown say nothing',
    [
      'plan',
      'notice',
      'compaction_update',
      'compaction_summary_chunk',
      'available_commands_update',
      'current_mode_update',
      'config_option_update',
      'future_update',
    ].map(sessionUpdate => ({ sessionUpdate })),
    [],
  ],
  [
    'garbage in an update harms nothing',
    [
      {},
      { sessionUpdate: 'tool_call' },
      { sessionUpdate: 'agent_message_chunk', content: 7 },
      change({ content: 'x', status: 7 }),
      call({ ...begun, rawInput: 'text' }),
    ],
    [
      ['use', 'c1', 'execute', { input: 'text' }],
      ['result', 'c1', 'cut off', true],
    ],
  ],
]

for (const [guarantee, updates, expected] of table) {
  test(guarantee, () => assert.deepEqual(told(updates), expected))
}

test('the preview of a message has the id of the later event', () => {
  let ids = 0
  const normalizer = new Normalizer(() => `e${++ids}`)
  const previews = [chunk('a'), chunk('b')].map(update => normalizer.take(update).preview)
  assert.deepEqual(previews, [
    { eventId: 'e1', text: 'a' },
    { eventId: 'e1', text: 'b' },
  ])
  assert.equal(normalizer.end('')[0]?.id, 'e1')
})

test('a very long text is split into messages, and none exceeds the limit of an event', () => {
  const lengths = told(Array.from({ length: 30 }, () => chunk('x'.repeat(10_000)))).map(
    event => String((event as string[])[1]).length,
  )
  assert.equal(lengths.length, 3)
  assert.equal(
    lengths.reduce((sum, length) => sum + length),
    300_000,
  )
})
