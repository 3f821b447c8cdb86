import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recordOf, recordsOf } from '../../../src/server/platform/json.ts'
import type { SpokenProtocol } from '../../support/upstream/spoken-protocols.ts'
import { imageBlock, startPair, tool } from './setup.ts'

// Chat Completions as gateways and their clients extend it. OpenAI itself has none of this.

interface Fate {
  readonly what: string
  readonly protocol?: SpokenProtocol
  readonly model?: string
  readonly given: object
  /** What the upstream gets. */
  readonly sent: object
}

const asked = { role: 'user', content: 'hi' }
const of = (...content: readonly object[]) => ({ messages: [{ role: 'user', content }] })
const pdfData = 'data:application/pdf;base64,JVBERi0='
const parts = (...sent: readonly object[]) => ({ contents: [{ role: 'user', parts: sent }] })
const blocks = (...content: readonly object[]) => ({ messages: [{ role: 'user', content }] })
const thought = { type: 'thinking', thinking: 'hm', signature: 'sig' }
const afterThought = (answer: object) => ({ messages: [asked, { role: 'assistant', ...answer }, asked] })
const budgeted = { model: 'claude-sonnet-4-5', sent: { thinking: { type: 'enabled', budget_tokens: 2000 } } }
const schema = { type: 'object', properties: {} }
const named = { tools: [{ name: 'f', description: 'd', input_schema: schema }] }

const fates: readonly Fate[] = [
  {
    what: 'a PDF file sent as an image is a document',
    given: of({ type: 'image_url', image_url: { url: pdfData } }),
    sent: blocks({ type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' } }),
  },
  {
    what: 'an address in file_data is not sent as data',
    given: of({ type: 'file', file: { file_data: 'https://example.com/a.pdf' } }),
    sent: blocks({ type: 'document', source: { type: 'url', url: 'https://example.com/a.pdf' } }),
  },
  {
    what: 'an address in file_id is a document',
    given: of({ type: 'file', file: { file_id: 'https://example.com/a.pdf', format: 'application/pdf' } }),
    sent: blocks({ type: 'document', source: { type: 'url', url: 'https://example.com/a.pdf' } }),
  },
  {
    what: 'an object of Google Cloud Storage',
    protocol: 'gemini',
    given: of({ type: 'image_url', image_url: { url: 'gs://bucket/a.png' } }),
    sent: parts({ fileData: { mimeType: 'image/png', fileUri: 'gs://bucket/a.png' } }),
  },
  {
    what: 'an object of S3',
    protocol: 'bedrock-converse',
    given: of({ type: 'image_url', image_url: 's3://bucket/a.png' }),
    sent: {
      messages: [
        { role: 'user', content: [{ image: { format: 'png', source: { s3Location: { uri: 's3://bucket/a.png' } } } }] },
      ],
    },
  },
  {
    what: 'audio',
    protocol: 'gemini',
    given: of({ type: 'input_audio', input_audio: { data: 'UklG', format: 'mp3' } }),
    sent: parts({ inlineData: { mimeType: 'audio/mp3', data: 'UklG' } }),
  },
  {
    what: 'video by address and as data',
    protocol: 'gemini',
    given: of(
      { type: 'video_url', video_url: { url: 'gs://bucket/a.mp4' } },
      { type: 'file', file: { file_data: 'data:video/webm;base64,AAAA' } },
    ),
    sent: parts(
      { fileData: { mimeType: 'video/mp4', fileUri: 'gs://bucket/a.mp4' } },
      { inlineData: { mimeType: 'video/webm', data: 'AAAA' } },
    ),
  },
  {
    what: 'signed thinking among the parts',
    given: afterThought({
      content: [thought, { type: 'thinking', thinking: 'unsigned' }, { type: 'text', text: 'ok' }],
    }),
    sent: {
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'hi' }] },
        { role: 'assistant', content: [thought, { type: 'text', text: 'ok' }] },
        { role: 'user', content: [{ type: 'text', text: 'hi' }] },
      ],
    },
  },
  {
    what: 'thinking_blocks',
    given: afterThought({ content: 'ok', thinking_blocks: [thought, { type: 'redacted_thinking', data: 'x' }] }),
    sent: {
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'hi' }] },
        {
          role: 'assistant',
          content: [thought, { type: 'redacted_thinking', data: 'x' }, { type: 'text', text: 'ok' }],
        },
        { role: 'user', content: [{ type: 'text', text: 'hi' }] },
      ],
    },
  },
  {
    what: 'calls, results and images in blocks of Anthropic',
    given: {
      tools: [tool],
      messages: [
        asked,
        { role: 'assistant', content: [{ type: 'tool_use', id: 't1', name: 'look', input: {} }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content: 'seen' }, imageBlock] },
      ],
    },
    sent: {
      tools: [tool],
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'hi' }] },
        { role: 'assistant', content: [{ type: 'tool_use', id: 't1', name: 'look', input: {} }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content: 'seen' }, imageBlock] },
      ],
    },
  },
  {
    what: 'tools in the form of Responses',
    given: { tools: [{ type: 'function', name: 'f', description: 'd', parameters: schema }] },
    sent: named,
  },
  {
    what: 'tools that Anthropic defines',
    given: { tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 3 }] },
    sent: { tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 3 }] },
  },
  {
    what: 'web_search_options',
    given: { web_search_options: { user_location: { type: 'approximate', approximate: { country: 'DE' } } } },
    sent: {
      tools: [
        { type: 'web_search_20250305', name: 'web_search', user_location: { country: 'DE', type: 'approximate' } },
      ],
    },
  },
  {
    what: 'web_search_options',
    protocol: 'gemini',
    given: { web_search_options: {} },
    sent: { tools: [{ googleSearch: {} }] },
  },
  {
    what: 'a choice in the form of Anthropic',
    model: 'claude-sonnet-4-5',
    given: { ...named, tool_choice: { type: 'any', disable_parallel_tool_use: true } },
    sent: { ...named, tool_choice: { type: 'any', disable_parallel_tool_use: true } },
  },
  { what: 'thinking', given: { thinking: { type: 'enabled', budget_tokens: 2000 } }, ...budgeted },
  { what: 'a budget in reasoning', given: { reasoning: { max_tokens: 2000 } }, ...budgeted },
  {
    what: 'an effort in reasoning',
    given: { reasoning: { effort: 'high', exclude: true } },
    sent: { thinking: { type: 'adaptive' }, output_config: { effort: 'high' } },
  },
  { what: 'thinking turned off', given: { thinking: { type: 'disabled' } }, sent: { thinking: { type: 'disabled' } } },
]

for (const { what, protocol = 'anthropic-messages', model, given, sent: expected } of fates) {
  test(`${what}: a request in Chat Completions reaches ${protocol} with it`, async t => {
    const { app, sent } = await startPair(t, protocol, {
      script: [{}],
      ...(model !== undefined && { changes: { upstreamModel: model } }),
    })
    const body = { model: 'test-model', max_tokens: 5000, messages: [asked], ...given }
    const response = await app.post(body, { path: '/v1/chat/completions' })
    assert.equal(response.status, 200, await response.text())
    const got = sent()
    for (const [field, value] of Object.entries(expected)) assert.deepEqual(got[field], value)
  })
}

test('audio and video for a model that reads none are rejected by name', async t => {
  const { app } = await startPair(t, 'anthropic-messages', { script: [{}] })
  const body = { model: 'test-model', ...of({ type: 'input_audio', input_audio: { data: 'UklG', format: 'mp3' } }) }
  const response = await app.post(body, { path: '/v1/chat/completions' })
  assert.equal(response.status, 400)
  assert.match(String(recordOf(recordOf(await response.json())['error'])['message']), /input_audio is not supported/)
})

test('calls of tools that Anthropic defines and the client runs are calls of functions', async t => {
  const script = [{ tool_calls: [{ name: 'bash', input: { command: 'ls' } }] }]
  const { app } = await startPair(t, 'anthropic-messages', { script })
  const body = { model: 'test-model', messages: [asked], tools: [{ type: 'bash_20250124', name: 'bash' }] }
  const answer = recordOf(await (await app.post(body, { path: '/v1/chat/completions' })).json())
  const [choice] = recordsOf(answer['choices'])
  const [call] = recordsOf(recordOf(choice?.['message'])['tool_calls'])
  assert.deepEqual(call?.['function'], { name: 'bash', arguments: '{"command":"ls"}' })
})
