import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AgUiMessage, AgUiRunInput } from '../../contract/ag-ui-input.ts'
import { inputHash, newInput } from './new-input.ts'
import type { ThreadCall } from './thread-calls.ts'

const user = (id: string, content: unknown = id): AgUiMessage => ({ id, role: 'user', content })
const agent = (id: string): AgUiMessage => ({ id, role: 'assistant', content: 'Hi' })
const tool = (toolCallId: string, more: object = {}): AgUiMessage => ({
  ...{ id: `result of ${toolCallId}`, role: 'tool', toolCallId, content: 'found' },
  ...more,
})
const input = (messages: readonly AgUiMessage[], more: object = {}): AgUiRunInput => ({
  threadId: 't',
  runId: 'r',
  messages: [...messages],
  ...more,
})
const approval: ThreadCall = { id: 'evt_1', name: 'bash', input: {}, isClient: false }
const call: ThreadCall = { id: 'evt_2', name: 'read_file', input: {}, isClient: true }
const read = (given: AgUiRunInput, questions: readonly ThreadCall[] = [], known: readonly string[] = []) =>
  newInput(given, { questions, isKnown: id => known.includes(id) })
const text = (said: string) => ({ type: 'text', text: said })
const answers = (more: object) => ({ resume: [{ interruptId: 'evt_1', status: 'resolved', ...more }] })

test('the messages of the user after the last answer become one prompt; earlier unknown ones are reported', () => {
  const { events, messageIds, ignored } = read(
    input([user('old'), agent('a'), user('known'), agent('b'), user('one'), user('two')]),
    [],
    ['known'],
  )
  assert.deepEqual(events, [{ type: 'user.message', content: [text('one'), text('two')] }])
  assert.deepEqual([messageIds, ignored], [['one', 'two'], ['messages[0]']])
  assert.deepEqual(read(input([user('known'), agent('a')]), [], ['known']).events, [])
})

test('files of a message keep their type and their name', () => {
  const part = (type: string, source: object, more: object = {}) => ({ type, source, ...more })
  const data = { type: 'data', value: 'aGk=', mimeType: 'image/png' }
  const content = [
    text('Look:'),
    part('image', data),
    part('document', { ...data, mimeType: 'text/csv' }, { metadata: { filename: 'a.csv' } }),
    part('image', { type: 'url', value: 'data:image/png;base64,aGk=' }),
    { type: 'binary', mimeType: 'image/gif', data: 'aGk=', filename: 'b.gif' },
  ]
  assert.deepEqual(read(input([user('u', content)])).events, [
    {
      type: 'user.message',
      content: [
        text('Look:'),
        { type: 'file', data: 'aGk=', media_type: 'image/png' },
        { type: 'file', data: 'aGk=', name: 'a.csv', media_type: 'text/csv' },
        { type: 'file', url: 'data:image/png;base64,aGk=' },
        { type: 'file', data: 'aGk=', name: 'b.gif', media_type: 'image/gif' },
      ],
    },
  ])
})

const wrongContents: readonly (readonly [content: unknown, problem: RegExp])[] = [
  ['  ', /messages\[0\]\.content must not be blank/],
  [7, /messages\[0\]\.content must be a text or a list of parts/],
  [[null], /messages\[0\]\.content\[0\] must be an object/],
  [[{ type: 'video' }], /messages\[0\]\.content\[0\]\.source\.value must be a text/],
  [
    [{ type: 'image', source: { type: 'url', value: 'https://example.com/a.png' } }],
    /content\[0\]\.source is not supported: .* send the content as base64/,
  ],
  [[{ type: 'image', source: { type: 'file', value: 'file_1' } }], /content\[0\]\.source is not supported/],
  [[{ type: 'binary', mimeType: 'image/png', url: 'https://example.com' }], /content\[0\] is not supported/],
  [[{ type: 'hologram' }], /content\[0\]\.type must be text, image, audio, video or document/],
  ['x'.repeat(1_000_001), /must have at most 1000000 characters/],
]

test('content that the service cannot use is rejected by its path', () => {
  for (const [content, problem] of wrongContents) assert.throws(() => read(input([user('u', content)])), problem)
})

const decisions: readonly (readonly [entry: object, expected: object])[] = [
  [{ payload: { approved: true } }, { result: 'allow' }],
  [{ payload: true }, { result: 'allow' }],
  [{ payload: { approved: true, editedArgs: { command: 'pwd' } } }, { result: 'allow', input: { command: 'pwd' } }],
  [{ payload: { approved: false, reason: 'no' } }, { result: 'deny', deny_message: 'no' }],
  [{ payload: { approved: false } }, { result: 'deny' }],
  [{ status: 'cancelled' }, { result: 'deny', deny_message: 'the user gave no answer' }],
]

test('an entry of resume decides about its approval', () => {
  for (const [entry, expected] of decisions)
    assert.deepEqual(read(input([], answers(entry)), [approval]).events, [
      { type: 'user.tool_confirmation', tool_use_id: 'evt_1', ...expected },
    ])
})

test('the last message with the id of a call is its result', () => {
  const { events } = read(input([tool('evt_2', { content: 'old' }), tool('evt_2'), tool('evt_0')]), [call])
  assert.deepEqual(events, [{ type: 'user.custom_tool_result', custom_tool_use_id: 'evt_2', content: [text('found')] }])
  const failed = read(input([tool('evt_2', { content: '', error: 'offline' })]), [call]).events
  assert.deepEqual(failed, [
    { type: 'user.custom_tool_result', custom_tool_use_id: 'evt_2', content: [text('offline')], is_error: true },
  ])
  const png = { type: 'image', source: { type: 'data', value: 'aGk=', mimeType: 'image/png' } }
  const [shown] = read(input([tool('evt_2', { content: [png] })]), [call]).events
  assert.deepEqual(shown?.type === 'user.custom_tool_result' && shown.content, [
    { type: 'image', source: { type: 'base64', data: 'aGk=', media_type: 'image/png' } },
  ])
})

const uncovered: readonly (readonly [more: object, questions: readonly ThreadCall[], problem: RegExp])[] = [
  [{}, [approval], /resume must answer interrupt evt_1 \(bash\)/],
  [{}, [call], /messages must have the result of tool call evt_2 \(read_file\)/],
  [answers({}), [approval, call], /resume\[0\]\.payload\.approved must be true or false/],
  [
    answers({ payload: { approved: false, editedArgs: {} } }),
    [approval],
    /editedArgs must be an object, together with/,
  ],
  [answers({ payload: { approved: false, reason: 7 } }), [approval], /resume\[0\]\.payload\.reason must be a text/],
]

test('every call that waits must be answered', () => {
  for (const [more, questions, problem] of uncovered)
    assert.throws(() => read(input([user('u')], more), questions), problem)
})

test('answers come before the message of the user, and entries that answer nothing are reported', () => {
  const resume = [
    { interruptId: 'evt_9', status: 'resolved', payload: true },
    { interruptId: 'evt_1', status: 'resolved', payload: true },
  ]
  const { events, ignored } = read(input([agent('a'), tool('evt_2'), user('u')], { resume }), [approval, call])
  assert.deepEqual(
    events.map(({ type }) => type),
    ['user.tool_confirmation', 'user.custom_tool_result', 'user.message'],
  )
  assert.deepEqual(ignored, ['resume[0]'])
})

test('the same input has the same hash, whatever the agent has written meanwhile', () => {
  const first = inputHash(input([user('u')]))
  assert.deepEqual(inputHash(input([user('u'), agent('a'), tool('x')])), first)
  assert.notDeepEqual(inputHash(input([user('u'), user('v')])), first)
  assert.notDeepEqual(inputHash(input([user('u')], answers({}))), first)
})
