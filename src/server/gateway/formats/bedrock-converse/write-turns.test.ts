import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AppError } from '../../../platform/errors.ts'
import { contents, contextFor, gptOss, llama, newestClaude, nova, sent, userContent } from './fixtures.ts'

const text = (words: string) => ({ type: 'text', text: words })
const png = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aW1n' } }
const pngSent = { image: { format: 'png', source: { bytes: 'aW1n' } } }
const result = (content: unknown, more: object = {}) => ({ type: 'tool_result', tool_use_id: 't1', content, ...more })
const document = (source: object, more: object = {}) => ({ type: 'document', source, ...more })
const pdf = { type: 'base64', media_type: 'application/pdf', data: 'cGRm' }
const txt = (words: string) => ({ bytes: Buffer.from(words).toString('base64') })

test('M1: an image in a tool_result stays in it', () => {
  assert.deepEqual(userContent([result([text('a'), png])]), [
    { toolResult: { toolUseId: 't1', content: [{ text: 'a' }, pngSent] } },
  ])
})

const documents = [
  ['base64', pdf, 'pdf', { bytes: 'cGRm' }],
  ['text', { type: 'text', media_type: 'text/plain', data: 'héllo' }, 'txt', txt('héllo')],
  ['content', { type: 'content', content: [text('a'), text('b')] }, 'txt', txt('a\nb')],
  ['an address in S3', { type: 'url', url: 's3://b/k.docx' }, 'docx', { s3Location: { uri: 's3://b/k.docx' } }],
] as const

for (const [name, source, format, sentSource] of documents) {
  test(`M2: a document as ${name} is sent at top level and in a tool_result`, () => {
    const expected = { document: { format, name: 'document', source: sentSource } }
    assert.deepEqual(userContent([text('Read'), document(source)]), [{ text: 'Read' }, expected])
    assert.deepEqual(userContent([result([document(source)])]), [
      { toolResult: { toolUseId: 't1', content: [expected] } },
    ])
  })
}

test('M2: a document without text gets a text, which Converse requires', () => {
  const [first, second] = userContent([document(pdf)]) as Record<string, unknown>[]
  assert.deepEqual([Object.keys(first ?? {}), Object.keys(second ?? {})], [['text'], ['document']])
})

test('M2: document names follow the rules of Converse and are unique', () => {
  const titles = [
    'Résumé, 2026/27.pdf',
    'Résumé, 2026/27.pdf',
    '分기보고서',
    '',
    'a  b\tc',
    'x'.repeat(300),
    'x'.repeat(300),
  ]
  const blocks = titles.map(title => document(pdf, { title }))
  const found = userContent([text('Read'), ...blocks]) as { document?: { name: string } }[]
  const names = found.flatMap(block => block.document?.name ?? [])
  assert.deepEqual(names.slice(0, 5), [
    'Resume 2026 27 pdf',
    'Resume 2026 27 pdf (2)',
    'document',
    'document (2)',
    'a b c',
  ])
  assert.equal(new Set(names).size, titles.length)
  for (const name of names) assert.match(name, /^(?!.* {2})[a-zA-Z0-9()[\] -]{1,200}$/)
})

test('M2: an image in a content document is moved after it and recorded', () => {
  const messages = [{ role: 'user', content: [text('Read'), document({ type: 'content', content: [text('a'), png] })] }]
  const { body, degraded } = sent({ messages })
  assert.match(JSON.stringify(body['messages']), /document.*image/)
  assert.deepEqual(degraded, ['messages.0.content.1.source.content.1=image_moved'])
})

const unreadable = [
  ['messages.0.content.0.source', { type: 'image', source: { type: 'url', url: 'https://x.test/a.png' } }],
  ['messages.0.content.0.source', document({ type: 'url', url: 'https://x.test/a.pdf' })],
  ['messages.0.content.0.source', document({ type: 'file', file_id: 'file_1' })],
  ['messages.0.content.0.source.media_type', { type: 'image', source: { ...pdf, media_type: 'image/tiff' } }],
  ['messages.0.content.0.source.data', { type: 'image', source: { type: 'base64', media_type: 'image/png' } }],
] as const

for (const [field, block] of unreadable) {
  test(`M2: an unsupported source is rejected with its field: ${JSON.stringify(block).slice(0, 70)}`, () => {
    assert.throws(
      () => userContent([block]),
      (error: unknown) => error instanceof AppError && error.message.startsWith(field),
    )
  })
}

test('M3: an error is sent as status, or as text for models without status; an empty result gets a placeholder', () => {
  const failed = result('boom', { is_error: true })
  assert.deepEqual(userContent([failed]), [
    { toolResult: { toolUseId: 't1', content: [{ text: 'boom' }], status: 'error' } },
  ])
  assert.deepEqual(userContent([failed], llama), [
    { toolResult: { toolUseId: 't1', content: [{ text: 'The tool call failed.' }, { text: 'boom' }] } },
  ])
  for (const empty of [undefined, '', [], [text('')]]) {
    assert.deepEqual(userContent([result(empty)]), [
      { toolResult: { toolUseId: 't1', content: [{ text: '(no output)' }] } },
    ])
  }
})

test('M4: results come first and together, also from consecutive user messages', () => {
  const messages = [
    { role: 'user', content: 'go' },
    {
      role: 'assistant',
      content: [
        { type: 'tool_use', id: 'a', name: 'f', input: { x: 1 } },
        { type: 'tool_use', id: 'b', name: 'g' },
      ],
    },
    { role: 'user', content: [text('first'), { ...result('1'), tool_use_id: 'a' }] },
    { role: 'user', content: [{ ...result('2'), tool_use_id: 'b' }, text('then')] },
  ]
  const found = contents(messages)
  assert.equal(found.length, 3)
  assert.deepEqual(found[1], [
    { toolUse: { toolUseId: 'a', name: 'f', input: { x: 1 } } },
    { toolUse: { toolUseId: 'b', name: 'g', input: {} } },
  ])
  assert.deepEqual(
    (found[2] as object[]).map(block => Object.keys(block)[0]),
    ['toolResult', 'toolResult', 'text', 'text'],
  )
})

test('M5: assistant text after a call stays after it', () => {
  const content = [{ type: 'tool_use', id: 'a', name: 'f', input: {} }, text('done')]
  const found = contents([
    { role: 'user', content: 'go' },
    { role: 'assistant', content },
  ])[1] as object[]
  assert.deepEqual(
    found.map(block => Object.keys(block)[0]),
    ['toolUse', 'text'],
  )
})

test('M6: leading system messages join the system blocks; later ones become user text in their place', () => {
  const messages = [
    { role: 'system', content: 'first' },
    { role: 'user', content: 'hi' },
    { role: 'system', content: [text('later'), text('still')] },
    { role: 'assistant', content: 'ok' },
  ]
  const { body, degraded } = sent({ system: 'top', messages })
  assert.deepEqual(body['system'], [{ text: 'top' }, { text: 'first' }])
  const [user, assistant] = body['messages'] as { role: string; content: { text: string }[] }[]
  assert.deepEqual([user?.role, assistant?.role], ['user', 'assistant'])
  assert.deepEqual(
    user?.content.map(block => block.text.replaceAll(/<[^>]*>|\n/g, '')),
    ['hi', 'later', 'still'],
  )
  assert.deepEqual(degraded, ['messages.2=moved_to_user'])
})

const signed = { type: 'thinking', thinking: 'Hm', signature: 'ClaudeSig=' }
const asked = { role: 'user', content: 'x' }
const said = (content: object[]) => [asked, { role: 'assistant', content: [...content, text('ok')] }, asked]

test("K1: Claude's thinking is sent back to Claude unchanged", () => {
  const blocks = [signed, { ...signed, thinking: '' }, { type: 'redacted_thinking', data: 'cnNu' }]
  assert.deepEqual((contents(said(blocks), newestClaude)[1] as object[]).slice(0, 3), [
    { reasoningContent: { reasoningText: { text: 'Hm', signature: 'ClaudeSig=' } } },
    { reasoningContent: { reasoningText: { text: '', signature: 'ClaudeSig=' } } },
    { reasoningContent: { redactedContent: 'cnNu' } },
  ])
})

test("K4: foreign and unsigned thinking is not sent to Claude, and Claude's not to other models", () => {
  const foreign = { ...signed, signature: contextFor(gptOss).reasoning.sign('{}') }
  const unsigned = { type: 'thinking', thinking: 'Hm' }
  const toClaude = sent({ messages: said([foreign, unsigned]) }, newestClaude)
  assert.ok(!toClaude.text.includes('reasoningContent'))
  assert.deepEqual(toClaude.degraded, ['messages.1.content.0=dropped', 'messages.1.content.1=dropped'])
  const toNova = sent({ messages: said([signed, { type: 'redacted_thinking', data: 'x' }]) }, nova)
  assert.ok(!toNova.text.includes('reasoningContent'))
  assert.deepEqual(toNova.degraded, ['messages.1.content.0=dropped', 'messages.1.content.1=dropped'])
})

test("K1: another model's reasoning is sent back to it, with text and redacted state", () => {
  const seal = (state: object) => contextFor(gptOss).reasoning.sign(JSON.stringify(state))
  const blocks = [
    { type: 'thinking', thinking: 'Hm', signature: seal({ signature: 's1' }) },
    { type: 'thinking', thinking: '', signature: seal({ redacted: 'c3RhdGU=' }) },
  ]
  assert.deepEqual((contents(said(blocks), gptOss)[1] as object[]).slice(0, 2), [
    { reasoningContent: { reasoningText: { text: 'Hm', signature: 's1' } } },
    { reasoningContent: { redactedContent: 'c3RhdGU=' } },
  ])
})

test('blocks without an equivalent are recorded at all levels', () => {
  const messages = [
    { role: 'user', content: [text('x'), { type: 'container_upload', file_id: 'f' }] },
    { role: 'assistant', content: [{ type: 'server_tool_use', id: 's', name: 'web_search' }, text('y')] },
    { role: 'user', content: [result([{ type: 'container_upload', file_id: 'f' }])] },
  ]
  assert.deepEqual(sent({ messages }).degraded, [
    'messages.0.content.1=dropped',
    'messages.1.content.0=dropped',
    'messages.2.content.0.content.0=dropped',
  ])
})

test('a search result is sent as such to Claude and as text to others', () => {
  const block = { type: 'search_result', source: 'https://x.test', title: 'T', content: [text('found')] }
  assert.deepEqual(userContent([block]), [
    { searchResult: { source: 'https://x.test', title: 'T', content: [{ text: 'found' }] } },
  ])
  assert.deepEqual(userContent([block], nova), [{ text: 'T\nhttps://x.test\nfound' }])
})

test('T13: call ids are valid for the model and equal in call and result', () => {
  const messages = [
    asked,
    { role: 'assistant', content: [{ type: 'tool_use', id: 'call|fc_1.2', name: 'f', input: {} }] },
    { role: 'user', content: [{ ...result('1'), tool_use_id: 'call|fc_1.2' }] },
  ]
  for (const [model, shape] of [
    [newestClaude, /^[a-zA-Z0-9_-]{1,64}$/],
    ['mistral.mistral-large-2402-v1:0', /^[a-zA-Z0-9]{9}$/],
  ] as const) {
    const [, call, answer] = contents(messages, model) as [
      unknown,
      { toolUse: { toolUseId: string } }[],
      { toolResult: { toolUseId: string } }[],
    ]
    assert.match(call[0]?.toolUse.toolUseId ?? '', shape)
    assert.equal(call[0]?.toolUse.toolUseId, answer[0]?.toolResult.toolUseId)
  }
})
