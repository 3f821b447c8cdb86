import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { keysOf, ownMembers } from '../bytes/json-members.ts'
import { requestWords } from '../core/request-words.ts'
import { geminiKeys } from '../formats/gemini/parse-request.ts'
import { boundFields, inputBoundOf } from './input-bound.ts'

/** The bound of a request. Asserts that scan and parse agree, with and without escaped letters. */
function boundOf(request: object, kind: 'messages' | 'gemini' = 'messages') {
  const keys = kind === 'gemini' ? geminiKeys : keysOf(boundFields)
  const body = Buffer.from(JSON.stringify(request))
  const bound = inputBoundOf({ kind, body }, ownMembers(body, keys, requestWords), 10)
  assert.deepEqual(bound, inputBoundOf({ kind, body }, undefined, 10))
  const escaped = Buffer.from(body.toString().replaceAll(/(?<=")[a-z]/g, escapedLetter))
  const { textBytes, ...found } = inputBoundOf({ kind, body: escaped }, ownMembers(escaped, keys, requestWords), 10)
  assert.deepEqual({ ...found, textBytes: textBytes - escaped.length + body.length }, bound)
  return { ...bound, bodyBytes: body.length }
}

const escapedLetter = (letter: string) => `\\u00${letter.charCodeAt(0).toString(16)}`
const withContent = (...content: object[]) => ({ model: 'm', max_tokens: 1, messages: [{ role: 'user', content }] })

const data = 'iVBORw0KGgo='.repeat(500)
const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data } }
const noCalls = { web_search: 0, web_search_preview: 0, file_search: 0, code_container: 0 }
const noAudio = { audioTokens: 0, hasAudio: false, answersInAudio: false }
const nothing = {
  images: 0,
  providerCalls: 0,
  toolCalls: noCalls,
  tools: 0,
  fillsWindow: false,
  answers: 1,
  ...noAudio,
}
const pdf = { type: 'base64', media_type: 'application/pdf', data }
const dataUrl = `data:image/png;base64,${data}`

const bodies: readonly (readonly [name: string, request: object, expected: object, dataBytes: number])[] = [
  ['text counts its bytes', withContent({ type: 'text', text: 'é' }), nothing, 0],
  ['image data counts as an image, not as text', withContent(image), { ...nothing, images: 1 }, data.length],
  [
    'a recording counts as audio of the slowest codec, not as text',
    withContent({ type: 'input_audio', input_audio: { data, format: 'mp3' } }),
    { ...nothing, audioTokens: Math.ceil(data.length * 0.032), hasAudio: true },
    data.length,
  ],
  [
    'an earlier answer in audio fills the window',
    { modalities: ['text', 'audio'], messages: [{ role: 'assistant', audio: { id: 'audio_1' } }] },
    { ...nothing, fillsWindow: true, hasAudio: true, answersInAudio: true },
    0,
  ],
  [
    'an external image counts as an image',
    withContent({ type: 'image', source: { type: 'url', url: 'https://x/y.png' } }),
    { ...nothing, images: 1 },
    0,
  ],
  [
    'images in a tool result are found',
    withContent({ type: 'tool_result', tool_use_id: 't', content: [image, { type: 'text', text: 'a' }, image] }),
    { ...nothing, images: 2 },
    2 * data.length,
  ],
  [
    'the input of a tool call is text, whatever it looks like',
    {
      messages: [
        { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'n', input: { content: [image] } }] },
      ],
    },
    nothing,
    0,
  ],
  [
    'text in place of image data is text',
    withContent({ ...image, source: { data: 'Hello, you!' } }),
    { ...nothing, images: 1 },
    0,
  ],
  [
    'a document fills the context window',
    withContent({ type: 'document', source: pdf }),
    { ...nothing, fillsWindow: true },
    data.length,
  ],
  [
    'a plain-text document is text',
    withContent({ type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'words' } }),
    nothing,
    0,
  ],
  [
    'images in a document of blocks are found',
    withContent({ type: 'document', source: { type: 'content', content: [image] } }),
    { ...nothing, images: 1 },
    data.length,
  ],
  [
    'Chat: an image in a data URL',
    withContent({ type: 'image_url', image_url: { url: dataUrl } }),
    { ...nothing, images: 1 },
    dataUrl.length,
  ],
  [
    'Chat: a file',
    withContent({ type: 'file', file: { file_data: dataUrl } }),
    { ...nothing, fillsWindow: true },
    dataUrl.length,
  ],
  ['Chat: several answers', { messages: [], n: 3 }, { ...nothing, answers: 3 }, 0],
  [
    'Responses: images in the input and in the output of a call',
    {
      input: [
        { role: 'user', content: [{ type: 'input_image', image_url: dataUrl }] },
        { type: 'function_call_output', call_id: 'c', output: [{ type: 'input_image', file_id: 'f' }] },
      ],
    },
    { ...nothing, images: 2 },
    dataUrl.length,
  ],
  [
    'Responses: a previous response fills the window',
    { input: 'hi', previous_response_id: 'r' },
    { ...nothing, fillsWindow: true },
    0,
  ],
  [
    'Responses: an item reference fills the window',
    { input: [{ type: 'item_reference', id: 'i' }] },
    { ...nothing, fillsWindow: true },
    0,
  ],
  ['embeddings of tokens', { input: [[1, 2], [3]] }, nothing, 0],
  [
    'provider tools add input',
    {
      tools: [{ name: 'own', input_schema: {} }, { type: 'web_search_20250305', max_uses: 3 }, { type: 'web_fetch_1' }],
    },
    { ...nothing, providerCalls: 13, toolCalls: { ...noCalls, web_search: 3 }, tools: 2 },
    0,
  ],
  [
    'client tools add no input',
    { tools: [{ type: 'bash_20250124' }, { type: 'function', function: {} }, { type: 'custom', name: 'c' }] },
    { ...nothing, tools: 1 },
    0,
  ],
  [
    'Chat: web_search_options counts as a search tool',
    { messages: [], web_search_options: {} },
    { ...nothing, providerCalls: 10, toolCalls: { ...noCalls, web_search: 10 } },
    0,
  ],
  [
    'Responses: tools with a fee, limited by max_tool_calls',
    {
      input: 'hi',
      max_tool_calls: 2,
      tools: ['web_search', 'file_search', 'code_interpreter'].map(type => ({ type })),
    },
    {
      ...nothing,
      providerCalls: 6,
      toolCalls: { ...noCalls, web_search: 2, file_search: 2, code_container: 1 },
      tools: 3,
    },
    0,
  ],
  [
    'Responses: the earlier search tool has its own fee',
    { input: 'hi', tools: [{ type: 'web_search_preview_2025_03_11' }] },
    { ...nothing, providerCalls: 10, toolCalls: { ...noCalls, web_search_preview: 10 }, tools: 1 },
    0,
  ],
]

for (const [name, request, expected, dataBytes] of bodies) {
  test(`input bound: ${name}`, () => {
    const { textBytes, bodyBytes, ...found } = boundOf(request)
    assert.deepEqual([found, textBytes], [expected, bodyBytes - dataBytes])
  })
}

const text = fc.string({ unit: 'grapheme', maxLength: 200 })
const block = fc.oneof(
  fc.record({ type: fc.constant('text'), text }),
  fc.record({ type: fc.constantFrom('image', 'document', 'image_url'), source: fc.record({ data: text }), text }),
  fc.record({ type: fc.constant('tool_use'), input: fc.record({ type: fc.constant('image'), data: text }) }),
  fc.record({ type: fc.constant('tool_result'), content: text }),
)
const isAllCounted = fc.property(fc.array(block), text, (content, system) => {
  const { textBytes } = boundOf({ system, messages: [{ role: 'user', content }] })
  const said = [system, ...content.flatMap(part => textsOf(part))]
  return textBytes >= said.reduce((sum, words) => sum + Buffer.byteLength(words), 0)
})

test('the bound includes every byte of text in any body', () => fc.assert(isAllCounted))

/** Text that a model reads. Excludes base64 in the place of image data. */
function textsOf(part: object): string[] {
  const { text, content, input, source } = part as Record<string, never>
  const given = (source as { data?: string } | undefined)?.data ?? ''
  const data = /^[A-Za-z0-9+/_=-]*$/.test(given) ? '' : given
  return [text ?? '', content ?? '', (input as { data?: string } | undefined)?.data ?? '', data]
}

const parts = (...list: object[]) => ({ contents: [{ role: 'user', parts: list }] })

test('Gemini: an image counts as an image in parts and results and in both spellings, and its data is not text', () => {
  const photo = { inlineData: { mimeType: 'image/png', data } }
  const other = { inline_data: { mime_type: 'image/png', data } }
  const result = { functionResponse: { name: 'f', response: {}, parts: [photo] } }
  const { images, textBytes, bodyBytes, fillsWindow } = boundOf(parts(photo, other, result), 'gemini')
  assert.deepEqual([images, bodyBytes - textBytes, fillsWindow], [3, 3 * data.length, false])
})

test('Gemini: data that a model may read as text counts as text', () => {
  for (const inline of [
    { mimeType: 'text/plain', data },
    { mimeType: 'image/png', data: `${data} and more` },
  ]) {
    const { textBytes, bodyBytes } = boundOf(parts({ inlineData: inline }), 'gemini')
    assert.equal(textBytes, bodyBytes)
  }
})

test('Gemini: documents, audio and external content fill the window', () => {
  for (const request of [
    parts({ inlineData: { mimeType: 'application/pdf', data } }),
    parts({ inlineData: { mimeType: 'audio/wav', data } }),
    parts({ fileData: { fileUri: 'https://x.example/a' } }),
    { ...parts({ text: 'hi' }), cached_content: 'cachedContents/1' },
  ])
    assert.equal(boundOf(request, 'gemini').fillsWindow, true)
})

test('Gemini: provider tools and several candidates are counted', () => {
  const tools = [{ functionDeclarations: [{ name: 'f' }] }, { googleSearch: {}, code_execution: {} }]
  const bound = boundOf({ tools, generation_config: { candidate_count: 3 } }, 'gemini')
  assert.deepEqual([bound.providerCalls, bound.toolCalls, bound.tools, bound.answers], [20, { web_search: 10 }, 2, 3])
  assert.deepEqual([boundOf({}, 'gemini').answers, boundOf({}, 'gemini').providerCalls], [1, 0])
})
