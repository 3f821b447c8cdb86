import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readRequest } from '../core/request.ts'
import { inputBoundOf } from '../tokens/input-bound.ts'
import type { PartFile } from './file-parts.ts'
import { filledRequest, referringBody } from './filled-request.ts'
import { fileReferencesIn, mayReferToFiles } from './references.ts'

const idOf = (digit: string) => `file_0${digit.repeat(31)}`
const contents: Readonly<Record<string, readonly [type: string, name: string, content: Buffer]>> = {
  [idOf('a')]: ['image/png', 'a.png', Buffer.from([137, 80, 78, 71, 1])],
  [idOf('b')]: ['application/pdf', 'b "2".pdf', Buffer.from('%PDF-1.7')],
  [idOf('c')]: ['text/csv', 'c.csv', Buffer.from('name,"städte"\n')],
  [idOf('d')]: ['application/zip', 'd.zip', Buffer.from('PK')],
  [idOf('e')]: ['text/plain', 'e.txt', Buffer.from([0x61, 0xff])],
}
const [png, pdf, csv, zip, broken] = ['a', 'b', 'c', 'd', 'e'].map(idOf) as [string, string, string, string, string]
const base64 = (id: string) => contents[id]?.[2].toString('base64')

function fileOf(id: string): PartFile {
  const [media_type, filename, content] = contents[id] ?? assert.fail(id)
  return { id, media_type, filename, bytes: content.length, pieces: [] }
}

/** In chunks of two bytes, which split characters and groups of base64. */
async function* contentOf({ id }: Pick<PartFile, 'id'>): AsyncGenerator<Buffer> {
  const content = contents[id]?.[2] ?? assert.fail(id)
  for (let at = 0; at < content.length; at += 2) yield content.subarray(at, at + 2)
}

const fill = (body: string, maxBytes = 100_000) => {
  const bytes = Buffer.from(body)
  return filledRequest(bytes, { references: fileReferencesIn(bytes), fileOf, contentOf, maxBytes })
}

const message = (part: object) => ({ messages: [{ role: 'user', content: [part] }] })
const source = (id: string) => ({ type: 'file', file_id: id })
const text = (id: string) => contents[id]?.[2].toString()

for (const [what, given, expected] of [
  [
    'an image in a message',
    message({ type: 'image', source: source(png), cache_control: { type: 'ephemeral' } }),
    message({
      type: 'image',
      source: { type: 'base64', media_type: 'image/png', data: base64(png) },
      cache_control: { type: 'ephemeral' },
    }),
  ],
  [
    'a PDF file in a tool result',
    message({ type: 'tool_result', tool_use_id: 't', content: [{ type: 'document', source: source(pdf) }] }),
    message({
      type: 'tool_result',
      tool_use_id: 't',
      content: [{ type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: base64(pdf) } }],
    }),
  ],
  [
    'a text in a document',
    message({ type: 'document', source: source(csv), title: 'T' }),
    message({ type: 'document', source: { type: 'text', media_type: 'text/plain', data: text(csv) }, title: 'T' }),
  ],
  [
    'an image in a chat',
    message({ type: 'file', file: { file_id: png } }),
    message({ type: 'image_url', image_url: { url: `data:image/png;base64,${base64(png)}` } }),
  ],
  [
    'a PDF file in a chat',
    message({ type: 'file', file: { file_id: pdf } }),
    message({ type: 'file', file: { filename: 'b "2".pdf', file_data: `data:application/pdf;base64,${base64(pdf)}` } }),
  ],
  [
    'a text in a chat',
    message({ type: 'file', file: { file_id: csv } }),
    message({ type: 'text', text: `File c.csv:\n\n${text(csv)}` }),
  ],
  [
    'a PDF file in a response',
    { input: [{ role: 'user', content: [{ type: 'input_file', file_id: pdf }] }] },
    {
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_file', filename: 'b "2".pdf', file_data: `data:application/pdf;base64,${base64(pdf)}` },
          ],
        },
      ],
    },
  ],
  [
    'an image and a text in the output of a function',
    {
      input: [
        {
          type: 'function_call_output',
          output: [
            { type: 'input_image', file_id: png, detail: 'low' },
            { type: 'input_file', file_id: csv },
          ],
        },
      ],
    },
    {
      input: [
        {
          type: 'function_call_output',
          output: [
            { type: 'input_image', detail: 'low', image_url: `data:image/png;base64,${base64(png)}` },
            { type: 'input_text', text: `File c.csv:\n\n${text(csv)}` },
          ],
        },
      ],
    },
  ],
  [
    'an image and a text in contents of Gemini',
    {
      contents: [
        { role: 'user', parts: [{ fileData: { fileUri: png, mimeType: 'image/png' } }, { text: png }] },
        { parts: [{ file_data: { file_uri: csv } }, { fileData: { fileUri: 'https://example.com/a.png' } }] },
      ],
    },
    {
      contents: [
        { role: 'user', parts: [{ inlineData: { mimeType: 'image/png', data: base64(png) } }, { text: png }] },
        {
          parts: [{ text: `File c.csv:\n\n${text(csv)}` }, { fileData: { fileUri: 'https://example.com/a.png' } }],
        },
      ],
    },
  ],
  [
    'a PDF file in a count of Gemini',
    { generateContentRequest: { contents: [{ parts: [{ fileData: { fileUri: pdf } }] }] } },
    {
      generateContentRequest: {
        contents: [{ parts: [{ inlineData: { mimeType: 'application/pdf', data: base64(pdf) } }] }],
      },
    },
  ],
] as const) {
  test(`${what} gets the content of the file`, async () => {
    const { body } = await fill(JSON.stringify(given))
    assert.deepEqual(JSON.parse(body.toString()), expected)
  })
}

test('every byte around a reference stays', async () => {
  const written = (part: string) =>
    ` {"model" : "m","n":1.0e2, "messages":[ {"content":[${part}, {"type":"text","text":"\\u00e9 ${png}"}]}]}\n`
  const { body, placed } = await fill(written(`{ "source":{"file_id":"${png}","type":"file"} , "type":"image"}`))
  const inline = `{"type":"base64","media_type":"image/png","data":"${base64(png)}"}`
  assert.equal(body.toString(), written(`{ "source":${inline} , "type":"image"}`))
  const referring = referringBody({ body, placed }, () => 'file_theirs')
  assert.equal(referring.toString(), written('{ "source":{"file_id":"file_theirs","type":"file"} , "type":"image"}'))
  assert.equal(referringBody({ body, placed }, () => undefined).toString(), body.toString())
})

test('ids of providers, ids in texts and parts with content are no references', () => {
  const parts = [
    { type: 'document', source: source('file_011CNha8iCJcU1wXNR6q4V8w') },
    { type: 'text', text: png },
    { type: 'file', file: { file_id: 'file-abc' } },
    { type: 'document', source: { type: 'base64', data: png } },
    { type: 'tool_use', input: { type: 'image', source: source(png) } },
  ]
  const body = Buffer.from(
    JSON.stringify({ messages: [{ content: parts }, { content: png }], system: [{ ...source(png) }] }),
  )
  assert.deepEqual(fileReferencesIn(body), [])
  assert.equal(mayReferToFiles('embeddings', body), false)
  assert.equal(mayReferToFiles('chat', Buffer.from('{"file_id":"file-abc"}')), false)
})

for (const [what, part, words] of [
  [
    'an archive as a document',
    { type: 'document', source: source(zip) },
    /application\/zip cannot be sent as document$/,
  ],
  ['a PDF file as an image', { type: 'image', source: source(pdf) }, /cannot be sent as image; use a document$/],
  ['an image as a document', { type: 'document', source: source(png) }, /cannot be sent as document; use an image$/],
  ['an archive in a chat', { type: 'file', file: { file_id: zip } }, /application\/zip cannot be sent as file$/],
  ['a text that is not UTF-8', { type: 'document', source: source(broken) }, /its content is not UTF-8/],
] as const) {
  test(`${what} is rejected with its path`, async () => {
    await assert.rejects(fill(JSON.stringify(message(part))), ({ message: text }: Error) => words.test(text))
  })
}

test('a request is limited with the content of its files', async () => {
  const body = JSON.stringify(message({ type: 'document', source: source(csv) }))
  await assert.rejects(fill(body, 30), { code: 'payload_too_large' })
  await assert.rejects(fill(body, body.length + 10), { code: 'payload_too_large' })
})

test('an upload to a container has no content, and only a provider’s copy replaces its id', async () => {
  const written = JSON.stringify(message({ type: 'container_upload', file_id: zip }))
  const request = await fill(written)
  assert.equal(request.body.toString(), written)
  assert.equal(referringBody(request, () => 'file_theirs').toString(), written.replace(zip, 'file_theirs'))

  const container = { type: 'auto', file_ids: ['file-abc', zip] }
  const tools = JSON.stringify({ tools: [{ type: 'code_interpreter', container }, { type: 'web_search' }] })
  const interpreter = await fill(tools)
  assert.equal(interpreter.body.toString(), tools)
  assert.equal(interpreter.placed[0]?.path, 'tools.0.container.file_ids.1')
  assert.equal(referringBody(interpreter, () => 'file_theirs').toString(), tools.replace(zip, 'file_theirs'))
})

test('the content of files counts for budgets like content in the request', async () => {
  const request = { model: 'm', max_tokens: 1, ...message({ type: 'document', source: source(csv) }) }
  const inline = { type: 'text', media_type: 'text/plain', data: text(csv) }
  const bound = (body: Buffer) =>
    inputBoundOf({ kind: 'messages', body }, readRequest({ kind: 'messages', body }).members, 1)
  const { body } = await fill(JSON.stringify(request))
  const same = { ...request, ...message({ type: 'document', source: inline }) }
  assert.deepEqual(bound(body), bound(Buffer.from(JSON.stringify(same))))
})
