import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { CodecContext } from '../../core/codec.ts'
import { storeCallSignature } from '../shared/call-signatures.ts'
import { gemini } from './codec.ts'
import { asClientReads, chunkOf, geminiContext, geminiEvents, vertexDeployment } from './fixtures.ts'

interface Content {
  readonly role: string
  readonly parts: readonly Record<string, unknown>[]
}

const convert = (messages: readonly object[], context: CodecContext = geminiContext()) => {
  const { body, degraded } = gemini.request({ messages }, context)
  return {
    contents: body['contents'] as readonly Content[],
    lost: degraded.map(({ path, action }) => `${path}=${action}`),
  }
}
const user = (...content: readonly object[]) => ({ role: 'user', content })
const assistant = (...content: readonly object[]) => ({ role: 'assistant', content })
const text = (words: string) => ({ type: 'text', text: words })
const use = (id: string, name = 'read') => ({ type: 'tool_use', id, name, input: { id } })
const result = (tool_use_id: string, content: unknown = 'done', rest: object = {}) => ({
  type: 'tool_result',
  tool_use_id,
  content,
  ...rest,
})
const png = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AA==' } }
const pdf = { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'BB==' } }
const inlinePng = { inlineData: { mimeType: 'image/png', data: 'AA==' } }
const inlinePdf = { inlineData: { mimeType: 'application/pdf', data: 'BB==' } }
const older = () => geminiContext({ upstreamModel: 'gemini-2.5-flash' })

test('turns alternate: consecutive messages of one role are merged, empty ones removed', () => {
  const { contents } = convert([
    user(text('a')),
    user(text('b')),
    assistant(text('')),
    { role: 'assistant', content: 'c' },
    assistant(text('d')),
    user(text('e')),
  ])
  assert.deepEqual(contents, [
    { role: 'user', parts: [{ text: 'a' }, { text: 'b' }] },
    { role: 'model', parts: [{ text: 'c' }, { text: 'd' }] },
    { role: 'user', parts: [{ text: 'e' }] },
  ])
})

test('M6: a later system message keeps its place and is recorded, as string and as array', () => {
  const { contents, lost } = convert([
    user(text('a')),
    { role: 'system', content: 'b' },
    { role: 'system', content: [text('c')] },
  ])
  assert.deepEqual(contents, [{ role: 'user', parts: [{ text: 'a' }, { text: 'b' }, { text: 'c' }] }])
  assert.deepEqual(lost, ['messages.1=moved_to_user', 'messages.2=moved_to_user'])
})

test('M4: results come first in the user turn, in the order of their calls', () => {
  const { contents } = convert(
    [
      user(text('go')),
      assistant(use('a'), use('b')),
      { role: 'system', content: 'note' },
      user(text('words'), result('b', 'two'), result('a', 'one')),
    ],
    older(),
  )
  const reply = (id: string, words: string) => ({ functionResponse: { id, name: 'read', response: { result: words } } })
  assert.deepEqual(contents[2]?.parts, [reply('a', 'one'), reply('b', 'two'), { text: 'note' }, { text: 'words' }])
})

test('M5: text of the model after a call stays after it', () => {
  const { contents } = convert([user(text('go')), assistant(use('a'), text('done')), user(result('a'))], older())
  assert.deepEqual(contents[1]?.parts, [
    { functionCall: { id: 'a', name: 'read', args: { id: 'a' } } },
    { text: 'done' },
  ])
})

test('M3: a failure is sent as error, and an empty result gets a placeholder', () => {
  const replies = convert([
    user(text('go')),
    assistant(use('a'), use('b'), use('c')),
    user(result('a', 'no such file', { is_error: true }), result('b', []), result('c', null)),
  ]).contents[2]?.parts.map(({ functionResponse }) => Object(functionResponse).response)
  assert.deepEqual(replies, [{ error: 'no such file' }, { result: '(no content)' }, { result: '(no content)' }])
})

test('Vertex gets no ids, which it rejects', () => {
  const context = geminiContext({ deployment: vertexDeployment, upstreamModel: 'gemini-2.5-pro' })
  const { contents } = convert([user(text('go')), assistant(use('a')), user(result('a'))], context)
  assert.deepEqual(contents[1]?.parts, [{ functionCall: { name: 'read', args: { id: 'a' } } }])
  assert.deepEqual(contents[2]?.parts, [{ functionResponse: { name: 'read', response: { result: 'done' } } }])
})

test('M1, M2: images and PDFs in a result stay in it if the model accepts them there', () => {
  const { contents, lost } = convert([
    user(text('go')),
    assistant(use('a')),
    user(result('a', [text('see'), png, pdf])),
  ])
  const parts = [inlinePng, inlinePdf]
  assert.deepEqual(contents[2]?.parts, [
    { functionResponse: { id: 'a', name: 'read', response: { result: 'see' }, parts } },
  ])
  assert.deepEqual(lost, ['messages.1.content.0=signature_skipped'])
})

test('M1: an image in a result follows it for models that accept none inside', () => {
  const { contents, lost } = convert(
    [user(text('go')), assistant(use('a')), user(result('a', [png]), text('?'))],
    older(),
  )
  assert.deepEqual(contents[2]?.parts.slice(1), [
    { text: 'Content of the result of read (a):' },
    inlinePng,
    { text: '?' },
  ])
  assert.deepEqual(lost, ['messages.2.content.0.content.0=image_moved'])
})

test('M2: documents are sent from data, URL and text; a guessed media type is recorded', () => {
  const document = (source: object, rest: object = {}) => ({ type: 'document', source, ...rest })
  const { contents, lost } = convert([
    user(
      document({ type: 'url', url: 'https://a.test/x.pdf' }),
      document({ type: 'text', media_type: 'text/plain', data: 'words' }, { title: 'T' }),
      document({ type: 'content', content: [text('inner'), png] }),
      { type: 'image', source: { type: 'url', url: 'https://a.test/i.webp?x=1' } },
      { type: 'image', source: { type: 'url', url: 'https://a.test/i' } },
      { type: 'image', source: { type: 'url', url: 'data:image/png;base64,AA==' } },
      pdf,
    ),
  ])
  assert.deepEqual(contents[0]?.parts, [
    { fileData: { mimeType: 'application/pdf', fileUri: 'https://a.test/x.pdf' } },
    { text: 'Document: T' },
    { text: 'words' },
    { text: 'inner' },
    inlinePng,
    { fileData: { mimeType: 'image/webp', fileUri: 'https://a.test/i.webp?x=1' } },
    { fileData: { mimeType: 'image/jpeg', fileUri: 'https://a.test/i' } },
    inlinePng,
    inlinePdf,
  ])
  assert.deepEqual(lost, ['messages.0.content.4.source.url=type_guessed'])
})

test('K4: thinking of other providers is dropped and recorded', () => {
  const { contents, lost } = convert([
    user(text('a')),
    assistant(
      { type: 'thinking', thinking: 'x', signature: 'EqQB' },
      { type: 'redacted_thinking', data: 'x' },
      text('b'),
    ),
  ])
  assert.deepEqual(contents[1]?.parts, [{ text: 'b' }])
  assert.deepEqual(lost, ['messages.1.content.0=dropped', 'messages.1.content.1=dropped'])
})

test('K5: the first call of each step without a known signature gets the placeholder, if the model needs one', () => {
  const messages = [
    user(text('go')),
    assistant(use('a'), use('b')),
    user(result('a'), result('b')),
    assistant(use('c')),
  ]
  const signatures = (context: CodecContext) =>
    convert(messages, context).contents.flatMap(({ parts }) =>
      parts.filter(part => 'functionCall' in part).map(part => part['thoughtSignature']),
    )
  const sentinel = 'skip_thought_signature_validator'
  assert.deepEqual(signatures(geminiContext()), [sentinel, undefined, sentinel])
  assert.deepEqual(signatures(older()), [undefined, undefined, undefined])
  const context = geminiContext()
  storeCallSignature(context, 'a', 'sig')
  assert.deepEqual(signatures(context), ['sig', undefined, sentinel])
})

/** Returns the parts sent to Gemini when the client replays the answer for `parts`. */
function replayed(parts: readonly object[], context = geminiContext(), forget = false) {
  const { content } = asClientReads(geminiEvents([chunkOf(parts, {}, 'STOP')], context))
  const again = forget ? { ...geminiContext(), requestId: 'req_2' } : context
  return convert([user(text('go')), { role: 'assistant', content }], again).contents[1]?.parts
}

const call = (rest: object = {}) => ({ functionCall: { id: 'c1', name: 'read', args: { a: 1 } }, ...rest })

const roundTrips = [
  ['a signed thought', [{ text: 'Hm', thought: true, thoughtSignature: 's' }, { text: 'Hi' }]],
  ['an unsigned thought', [{ text: 'Hm', thought: true }, { text: 'Hi' }]],
  ['a signature on text', [{ text: 'Hi', thoughtSignature: 's' }]],
  [
    'two signed texts',
    [
      { text: 'Hi', thoughtSignature: 's' },
      { text: '', thoughtSignature: 't' },
    ],
  ],
  ['a signed call after thoughts', [{ text: 'Hm', thought: true }, call({ thoughtSignature: 's' })]],
  [
    'a signed call after signed thoughts',
    [{ text: 'Hm', thought: true, thoughtSignature: 'r' }, call({ thoughtSignature: 's' })],
  ],
  ['a signed call after text', [{ text: 'Hi' }, call({ thoughtSignature: 's' })]],
  [
    'a search of Gemini itself',
    [
      { toolCall: { id: 't', toolType: 'GOOGLE_SEARCH', args: {} }, thoughtSignature: 's' },
      { toolResponse: { id: 't', response: {} } },
      { text: 'Hi' },
    ],
  ],
] as const

for (const [name, parts] of roundTrips) {
  test(`K5: ${name} is sent back unchanged`, () => assert.deepEqual(replayed(parts), parts))
}

test('K5: the signature of a call after thoughts does not depend on stored signatures', () => {
  const parts = [{ text: 'Hm', thought: true }, call({ thoughtSignature: 's' })]
  assert.deepEqual(replayed(parts, geminiContext(), true), parts)
})

test('turns always alternate and are never empty', () => {
  const block = fc.oneof(
    fc.string({ maxLength: 2 }).map(text),
    fc.constantFrom('a', 'b').map(id => use(id)),
    fc.constantFrom('a', 'b', 'c').map(id => result(id)),
    fc.constant({ type: 'thinking', thinking: 'x', signature: 'y' }),
  )
  const message = fc.record({
    role: fc.constantFrom('user', 'assistant', 'system'),
    content: fc.array(block, { maxLength: 3 }),
  })
  fc.assert(
    fc.property(fc.array(message, { maxLength: 8 }), messages => {
      const { contents } = convert([user(text('go')), ...messages])
      for (const [index, { role, parts }] of contents.entries()) {
        assert.equal(role, index % 2 === 0 ? 'user' : 'model')
        assert.ok(parts.length > 0)
        const replies = parts.map(part => 'functionResponse' in part)
        assert.deepEqual(
          replies,
          replies.toSorted((a, b) => Number(b) - Number(a)),
        )
      }
    }),
  )
})
