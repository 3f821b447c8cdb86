import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Json } from '../../../platform/json.ts'
import { inputOf, sent } from './fixtures.ts'

const user = (...content: readonly Json[]) => ({ role: 'user', content })
const assistant = (...content: readonly Json[]) => ({ role: 'assistant', content })
const text = (words: string) => ({ type: 'text', text: words })
const call = (id: string) => ({ type: 'tool_use', id, name: 'read', input: { path: 'a' } })
const result = (id: string, content?: unknown) => ({ type: 'tool_result', tool_use_id: id, content })
const said = (words: string) => ({
  type: 'message',
  role: 'assistant',
  content: [{ type: 'output_text', text: words }],
})
const asked = (...words: readonly string[]) => ({
  type: 'message',
  role: 'user',
  content: words.map(word => ({ type: 'input_text', text: word })),
})
const called = (id: string) => ({ type: 'function_call', call_id: id, name: 'read', arguments: '{"path":"a"}' })
const output = (id: string, value: unknown) => ({ type: 'function_call_output', call_id: id, output: value })

const png = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }
const pdf = {
  type: 'document',
  title: 'a.pdf',
  source: { type: 'base64', media_type: 'application/pdf', data: 'BBBB' },
}
const imagePart = { type: 'input_image', image_url: 'data:image/png;base64,AAAA', detail: 'auto' }
const filePart = { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,BBBB' }

test('M4: results come first and together in the turn; other content follows', () => {
  const input = inputOf([
    user(text('go')),
    assistant(call('c1'), call('c2')),
    user(text('also'), result('c1', 'one'), text('this'), result('c2', [text('two'), text('lines')])),
  ])
  const results = [output('c1', 'one'), output('c2', 'two\nlines')]
  assert.deepEqual(input, [asked('go'), called('c1'), called('c2'), ...results, asked('also', 'this')])
})

test('M5: assistant text before, between and after tool calls keeps its place', () => {
  const input = inputOf([assistant(text('a'), text('b'), call('c1'), text('c')), user(result('c1', 'r'))])
  const both = { ...said('a'), content: ['a', 'b'].map(word => ({ type: 'output_text', text: word })) }
  assert.deepEqual(input, [both, called('c1'), said('c'), output('c1', 'r')])
})

test('M1: images and PDFs stay in the output of their tool', () => {
  const input = inputOf([user(result('c1', [text('see'), png, pdf]))])
  assert.deepEqual(input, [output('c1', [{ type: 'input_text', text: 'see' }, imagePart, filePart])])
})

const documents = [
  ['base64', pdf, [filePart]],
  ['base64 without title', { ...pdf, title: null }, [{ ...filePart, filename: 'document.pdf' }]],
  [
    'URL',
    { type: 'document', title: 'T', context: 'C', source: { type: 'url', url: 'https://a.test/x.pdf' } },
    [
      { type: 'input_text', text: 'T' },
      { type: 'input_text', text: 'C' },
      { type: 'input_file', file_url: 'https://a.test/x.pdf' },
    ],
  ],
  ['text', { type: 'document', source: { type: 'text', data: 'plain' } }, [{ type: 'input_text', text: 'plain' }]],
  [
    'content',
    { type: 'document', source: { type: 'content', content: [text('a'), png] } },
    [{ type: 'input_text', text: 'a' }, imagePart],
  ],
] as const

for (const [name, block, parts] of documents) {
  test(`M2: a document by ${name} is sent at top level and in a tool result`, () => {
    const places = inputOf([user(block), user(result('c1', [block]))])
    assert.deepEqual(places[0]?.['content'], parts)
    const isText = parts.every(part => part.type === 'input_text')
    assert.deepEqual(places[1]?.['output'], isText ? 'plain' : parts)
  })
}

test('images by URL and search results are sent', () => {
  const image = { type: 'image', source: { type: 'url', url: 'https://a.test/i.png' } }
  const search = { type: 'search_result', title: 'T', source: 'https://a.test', content: [text('found')] }
  assert.deepEqual(inputOf([user(image, search)])[0]?.['content'], [
    { type: 'input_image', image_url: 'https://a.test/i.png', detail: 'auto' },
    { type: 'input_text', text: 'T\nhttps://a.test\nfound' },
  ])
})

const results = [
  ['an empty string', { ...result('c1', '') }, '(no output)'],
  ['nothing', { ...result('c1') }, '(no output)'],
  ['an empty list', { ...result('c1', []) }, '(no output)'],
  ['an error', { ...result('c1', 'boom'), is_error: true }, 'The tool call failed:\nboom'],
  ['an empty error', { ...result('c1'), is_error: true }, 'The tool call failed:\n(no output)'],
] as const

for (const [name, block, expected] of results) {
  test(`M3: a result that is ${name} is marked in text`, () => {
    assert.deepEqual(inputOf([user(block)]), [output('c1', expected)])
  })
}

test('M6: a later system message is sent, as string or array', () => {
  const input = inputOf([
    { role: 'user', content: 'a' },
    { role: 'system', content: 'b' },
    { role: 'system', content: [text('c'), text('d')] },
  ])
  assert.deepEqual(
    input.map(item => [item['role'], item['content']]),
    [
      ['user', asked('a').content],
      ['system', asked('b').content],
      ['system', asked('c', 'd').content],
    ],
  )
})

test('T13: ids that the upstream rejects are replaced, equally in call, result and all turns', () => {
  const odd = `toolu.${'x'.repeat(80)}`
  const [first, second] = inputOf([assistant(call(odd)), user(result(odd, 'r'))])
  assert.match(String(first?.['call_id']), /^[a-zA-Z0-9_-]{1,64}$/)
  assert.equal(first?.['call_id'], second?.['call_id'])
})

const state = JSON.stringify({ id: 'rs_1', summary: ['one', 'two'], encrypted: 'gAAA' })
const ours = { type: 'thinking', thinking: 'one\n\ntwo', signature: `sealed:${state}` }
const reasoning = {
  type: 'reasoning',
  id: 'rs_1',
  summary: ['one', 'two'].map(word => ({ type: 'summary_text', text: word })),
  encrypted_content: 'gAAA',
}

test('K1: reasoning is restored in its place, with summary and state unchanged', () => {
  assert.deepEqual(inputOf([assistant(ours, text('a'), ours, call('c1'))]), [
    reasoning,
    said('a'),
    reasoning,
    called('c1'),
  ])
})

test('K4: foreign, unsigned, redacted and unreadable thinking is dropped and recorded', () => {
  const thinking = (signature?: string) => ({ type: 'thinking', thinking: 'x', signature })
  const redacted = { type: 'redacted_thinking', data: 'zz' }
  const messages = [
    assistant(
      thinking('EqQB'),
      thinking(),
      redacted,
      thinking('sealed:{"id":"rs_9"}'),
      thinking('sealed:?'),
      text('a'),
    ),
    user(text('b')),
  ]
  const { body, degraded } = sent({ messages })
  assert.deepEqual(body['input'], [said('a'), asked('b')])
  assert.deepEqual(
    degraded,
    [0, 1, 2, 3, 4].map(index => `messages.0.content.${index}=dropped`),
  )
})

test('K4: reasoning is dropped for a model that accepts none', () => {
  const { body, degraded } = sent(
    { messages: [assistant(ours, text('a')), user(text('b'))] },
    { upstreamModel: 'gpt-4.1' },
  )
  assert.deepEqual(body['input'], [said('a'), asked('b')])
  assert.deepEqual(degraded, ['messages.0.content.0=dropped'])
})

test('K8: reasoning without content after it, as in an aborted answer, is not replayed', () => {
  const { body, degraded } = sent({ messages: [assistant(ours), user(text('b'))] })
  assert.deepEqual(body['input'], [asked('b')])
  assert.deepEqual(degraded, ['messages.0.content.0=dropped'])
})

test("another provider's web search becomes a call and its result, without encrypted fields", () => {
  const input = inputOf([
    assistant(
      { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'q' } },
      {
        type: 'web_search_tool_result',
        tool_use_id: 'srvtoolu_1',
        content: [{ type: 'web_search_result', title: 'T', url: 'https://a.test', encrypted_content: 'secret' }],
      },
      text('a'),
    ),
    user(text('b')),
  ])
  assert.deepEqual(input.slice(0, 2), [
    { type: 'function_call', call_id: 'srvtoolu_1', name: 'web_search', arguments: '{"query":"q"}' },
    output('srvtoolu_1', 'T\nhttps://a.test'),
  ])
})

test('assistant content without an equivalent is dropped and recorded', () => {
  const paused = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} }
  const { body, degraded } = sent({ messages: [assistant(text('a'), paused, { type: 'novel' }), user(text('b'))] })
  assert.deepEqual(body['input'], [said('a'), asked('b')])
  assert.deepEqual(degraded, ['messages.0.content.1=dropped', 'messages.0.content.2=dropped'])
})

test('a final assistant message is recorded, because the upstream does not continue it', () => {
  const { degraded } = sent({ messages: [user(text('a')), assistant(text('{'))] })
  assert.deepEqual(degraded, ['messages.1=not_continued'])
})

const refused = [
  [[user({ type: 'container_upload' })], /^messages\.0\.content\.0: a block of type container_upload/],
  [[user({ type: 'image', source: { type: 'file', file_id: 'f' } })], /^messages\.0\.content\.0\.source: a file of/],
  [[user({ type: 'image', source: { type: 'base64' } })], /^messages\.0\.content\.0\.source of type base64/],
  [[user(result('', 'x'))], /^messages\.0\.content\.0\.tool_use_id/],
  [[{ role: 'user' }], /^messages\.0\.content must be/],
  [[{ role: 'user', content: ['x'] }], /^messages\.0\.content\.0 must be an object/],
  [[{ role: 'robot', content: 'x' }], /^messages\.0\.role/],
] as const

for (const [messages, message] of refused) {
  test(`an unsupported message is rejected with its path: ${message.source}`, () => {
    assert.throws(() => sent({ messages }), { code: 'invalid_request', message })
  })
}
