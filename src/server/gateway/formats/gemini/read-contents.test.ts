import assert from 'node:assert/strict'
import { test } from 'node:test'
import { degradedHeader } from '../../core/degradations.ts'
import { createConversation } from '../shared/conversation.ts'
import type { Note } from '../shared/settings.ts'
import { carrierOf } from './carried-state.ts'
import { addContents } from './read-contents.ts'

function convert(contents: readonly object[]) {
  const degraded: { path: string; action: string }[] = []
  const note: Note = (path, action = 'dropped') => void degraded.push({ path, action })
  const conversation = createConversation(note)
  addContents(contents, { conversation, note })
  const { messages } = conversation.finish()
  // A JSON copy has no recorded paths of parts.
  return { messages: JSON.parse(JSON.stringify(messages)) as typeof messages, degraded: degradedHeader(degraded) }
}

const text = (said: string) => ({ type: 'text', text: said })
const user = (...parts: object[]) => ({ role: 'user', parts })
const model = (...parts: object[]) => ({ role: 'model', parts })
const call = (name: string, args: object, id?: string) => ({ functionCall: { ...(id && { id }), name, args } })
const result = (name: string, response: object, id?: string) => ({
  functionResponse: { ...(id && { id }), name, response },
})
const thought = { type: 'thinking', thinking: 'Hm.', signature: 'sig_1' }
const hi = user({ text: 'hi' })

const table: readonly (readonly [string, readonly object[], readonly object[], string?])[] = [
  [
    'images and documents are converted from base64, base64url and URLs',
    [
      user(
        { inlineData: { mimeType: 'image/png', data: 'AA-_' } },
        { inline_data: { mime_type: 'application/pdf', data: 'JVBE' } },
        { inlineData: { mimeType: 'text/plain; charset=utf-8', data: 'aGk=' } },
        { fileData: { mimeType: 'image/jpeg', fileUri: 'https://x.example/a.jpg' } },
      ),
    ],
    [
      {
        role: 'user',
        content: [
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AA+/' } },
          { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBE' } },
          { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'hi' } },
          { type: 'image', source: { type: 'url', url: 'https://x.example/a.jpg' } },
        ],
      },
    ],
  ],
  [
    'results of parallel calls are matched by id, in any order',
    [
      hi,
      model(call('f', { a: 1 }, 'x'), call('f', { a: 2 }, 'y')),
      user(result('f', { output: 'two' }, 'y'), result('f', { output: 'one' }, 'x')),
    ],
    [
      { role: 'user', content: [text('hi')] },
      {
        role: 'assistant',
        content: [
          { type: 'tool_use', id: 'x', name: 'f', input: { a: 1 } },
          { type: 'tool_use', id: 'y', name: 'f', input: { a: 2 } },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'y', content: [text('two')] },
          { type: 'tool_result', tool_use_id: 'x', content: [text('one')] },
        ],
      },
    ],
  ],
  [
    'without ids the first result of a name is matched with its first call',
    [
      hi,
      model(call('f', {}), call('g', {}), call('f', {})),
      { role: 'function', parts: [result('f', { a: 1 }), result('g', { error: 'no' }), result('f', {})] },
    ],
    [
      { role: 'user', content: [text('hi')] },
      {
        role: 'assistant',
        content: [
          { type: 'tool_use', id: 'call_contents_1_parts_0', name: 'f', input: {} },
          { type: 'tool_use', id: 'call_contents_1_parts_1', name: 'g', input: {} },
          { type: 'tool_use', id: 'call_contents_1_parts_2', name: 'f', input: {} },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'call_contents_1_parts_0', content: [text('{"a":1}')] },
          { type: 'tool_result', tool_use_id: 'call_contents_1_parts_1', content: [text('no')], is_error: true },
          { type: 'tool_result', tool_use_id: 'call_contents_1_parts_2', content: [text('(no output)')] },
        ],
      },
    ],
  ],
  [
    'a result beside an error of null is no error',
    [hi, model(call('f', {})), user(result('f', { result: 'done', error: null }))],
    [
      { role: 'user', content: [text('hi')] },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'call_contents_1_parts_0', name: 'f', input: {} }] },
      {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: 'call_contents_1_parts_0', content: [text('done')] }],
      },
    ],
  ],
  [
    'a result without its call in the conversation becomes text',
    [user({ text: 'go on' }, result('f', { output: 'late' }))],
    [{ role: 'user', content: [text('go on'), text('Result of an earlier call of f:'), text('late')] }],
    'contents.0.parts.1.functionResponse=approximated',
  ],
  [
    'M1: an image in a result stays in it',
    [
      hi,
      model(call('f', {})),
      user({
        functionResponse: { name: 'f', response: {}, parts: [{ inlineData: { mimeType: 'image/png', data: 'AAAA' } }] },
      }),
    ],
    [
      { role: 'user', content: [text('hi')] },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'call_contents_1_parts_0', name: 'f', input: {} }] },
      {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: 'call_contents_1_parts_0',
            content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }],
          },
        ],
      },
    ],
  ],
  [
    'K1: thinking in a signature is restored before its part, with or without the thought text',
    [hi, model({ text: 'Hm.', thought: true }, { text: 'So.', thoughtSignature: carrierOf([thought]) }), hi],
    [
      { role: 'user', content: [text('hi')] },
      { role: 'assistant', content: [thought, text('So.')] },
      { role: 'user', content: [text('hi')] },
    ],
  ],
  [
    'K4: signatures and thoughts of other providers are dropped and recorded',
    [hi, model({ text: 'Hm.', thought: true, thoughtSignature: 'Z2VtaW5p' }, { text: 'So.' }), hi],
    [
      { role: 'user', content: [text('hi')] },
      { role: 'assistant', content: [text('So.')] },
      { role: 'user', content: [text('hi')] },
    ],
    'contents.1.parts.0.thoughtSignature=dropped, contents.1.parts.0=dropped',
  ],
  [
    'code executed by Google becomes text; unknown parts are recorded',
    [hi, model({ executableCode: { code: '1+1' } }, { codeExecutionResult: { output: '2' } }, { toolCall: {} }), hi],
    [
      { role: 'user', content: [text('hi')] },
      { role: 'assistant', content: [text('Code that was run:\n1+1'), text('What it gave:\n2')] },
      { role: 'user', content: [text('hi')] },
    ],
    'contents.1.parts.0=approximated, contents.1.parts.1=approximated, contents.1.parts.2=dropped',
  ],
]

for (const [guarantee, contents, messages, listed] of table) {
  test(guarantee, () => assert.deepEqual(convert(contents), { messages, degraded: listed }))
}

test('a carrier re-encoded as base64url by the client is decoded', () => {
  const block = { ...thought, thinking: 'ÿþ?>'.repeat(20) }
  const signature = Buffer.from(carrierOf([block]), 'base64').toString('base64url')
  const { messages } = convert([hi, model({ text: 'So.', thought_signature: signature }), hi])
  assert.deepEqual(messages[1]?.content, [block, text('So.')])
})
