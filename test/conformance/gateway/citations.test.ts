import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { sseReader } from '../../../src/contract/sse.ts'
import { recordOf, recordsOf } from '../../../src/server/platform/json.ts'
import { dataFrame } from '../../support/upstream/dialects/dialect.ts'
import { startPair } from './setup.ts'

const page = { url: 'https://a.example/page', title: 'A page' }
const own = { type: 'web_search_result_location', ...page, encrypted_index: 'E', cited_text: 'Bees' }
const document = { type: 'char_location', cited_text: 'x', document_index: 0, start_char_index: 0, end_char_index: 1 }
const head = { id: 'msg_1', type: 'message', role: 'assistant', model: 'claude-sonnet-5', usage: { input_tokens: 5 } }
const content = [
  { type: 'text', text: 'Zwölf says: ' },
  { type: 'text', text: 'Bees hum.', citations: [own, document] },
]
const body = JSON.stringify({ ...head, content, stop_reason: 'end_turn', usage: { input_tokens: 5, output_tokens: 9 } })
const event = (type: string, fields: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`
const frames = [
  event('message_start', { message: { ...head, content: [] } }),
  ...content.flatMap(({ text, citations = [] }, index) => [
    event('content_block_start', { index, content_block: { type: 'text', text: '' } }),
    ...citations.map(citation => event('content_block_delta', { index, delta: { type: 'citations_delta', citation } })),
    event('content_block_delta', { index, delta: { type: 'text_delta', text } }),
    event('content_block_stop', { index }),
  ]),
  event('message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 9 } }),
  event('message_stop', {}),
]

/** What Claude's answer with citations is for a client that posts `request` to `path`. */
async function answered(t: TestContext, { path, request, stream }: { path: string; request: object; stream: boolean }) {
  const { app } = await startPair(t, 'anthropic-messages', { script: [stream ? { frames } : { body }] })
  const response = await app.post({ model: 'test-model', ...request }, { path })
  const text = await response.text()
  if (!stream) return [JSON.parse(text) as Record<string, unknown>]
  return [...sseReader()(text)].flatMap(({ data }) => (data === '[DONE]' ? [] : [recordOf(JSON.parse(data))]))
}

const messages = [{ role: 'user', content: 'what hums?' }]
for (const stream of [false, true]) {
  const how = stream ? 'streamed' : 'whole'

  test(`F11, anthropic-messages: citations are annotations of Chat, ${how}`, async t => {
    const path = '/v1/chat/completions'
    const answers = await answered(t, { path, request: { messages, stream }, stream })
    const said = answers
      .flatMap(({ choices }) => recordsOf(choices))
      .map(one => recordOf(one['delta'] ?? one['message']))
    assert.equal(said.map(({ content: part }) => part ?? '').join(''), 'Zwölf says: Bees hum.')
    assert.deepEqual(
      said.flatMap(({ annotations }) => recordsOf(annotations)),
      [{ type: 'url_citation', url_citation: { ...page, start_index: 12, end_index: 21 } }],
    )
  })

  test(`F11, anthropic-messages: citations are annotations of Responses, ${how}`, async t => {
    const answers = await answered(t, { path: '/v1/responses', request: { input: 'what hums?', stream }, stream })
    const expected = { type: 'url_citation', ...page, start_index: 0, end_index: 9 }
    const added = answers.filter(({ type }) => type === 'response.output_text.annotation.added')
    if (stream)
      assert.deepEqual(
        added.map(({ annotation }) => annotation),
        [expected],
      )
    const last = recordOf(answers.at(-1))
    const output = recordsOf((stream ? recordOf(last['response']) : last)['output'])
    const annotations = output.flatMap(item => recordsOf(item['content'])).map(part => part['annotations'])
    assert.deepEqual(annotations, [[], [expected]])
  })

  test(`F11, anthropic-messages: citations ground Gemini’s answer, ${how}`, async t => {
    const operation = stream ? 'streamGenerateContent?alt=sse' : 'generateContent'
    const path = `/v1beta/models/test-model:${operation}`
    const answers = await answered(t, { path, request: { contents: [{ parts: [{ text: 'what hums?' }] }] }, stream })
    const [candidate] = recordsOf(answers.at(-1)?.['candidates'])
    assert.deepEqual(candidate?.['groundingMetadata'], {
      webSearchQueries: [],
      groundingChunks: [{ web: { uri: page.url, title: page.title } }],
      groundingSupports: [{ segment: { startIndex: 13, endIndex: 22, text: 'Bees hum.' }, groundingChunkIndices: [0] }],
    })
  })
}

for (const stream of [false, true]) {
  test(`F11, openai-chat: pages that a Chat upstream cites follow the text, ${stream ? 'streamed' : 'whole'}`, async t => {
    const named = { type: 'url_citation', url_citation: { url: 'https://b.example', title: 'In the text' } }
    const annotations = [{ type: 'url_citation', url_citation: page }, named]
    const spoken = { role: 'assistant', content: 'Bees hum (https://b.example).' }
    const choice = (message: object, finish: string | null) => ({
      choices: [{ index: 0, [stream ? 'delta' : 'message']: message, finish_reason: finish }],
    })
    const { app } = await startPair(t, 'openai-chat', {
      script: [
        stream
          ? { frames: [dataFrame(choice(spoken, null)), dataFrame(choice({ annotations }, 'stop'))] }
          : { body: JSON.stringify(choice({ ...spoken, annotations }, 'stop')) },
      ],
    })
    const said = await (await app.post({ model: 'test-model', max_tokens: 99, messages, stream })).text()
    assert.match(said, /Sources:\\n- A page: https:\/\/a\.example\/page/)
    assert.doesNotMatch(said, /In the text/)
  })
}
