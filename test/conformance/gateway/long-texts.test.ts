import assert from 'node:assert/strict'
import { test } from 'node:test'
import { joined } from '../../../src/server/gateway/bytes/body-edit.ts'
import type { Attempt, CallKind, Sink } from '../../../src/server/gateway/core/call.ts'
import type { ClientFormat } from '../../../src/server/gateway/core/client-format.ts'
import { createCallSignatures, createReasoningSigners } from '../../../src/server/gateway/core/reasoning-signers.ts'
import { readRequest } from '../../../src/server/gateway/core/request.ts'
import { createTranslation } from '../../../src/server/gateway/core/translation.ts'
import { codecs } from '../../../src/server/gateway/format-adapters.ts'
import { anthropicClient } from '../../../src/server/gateway/formats/anthropic/write-answer.ts'
import { geminiClient } from '../../../src/server/gateway/formats/gemini/read-request.ts'
import { chatClient } from '../../../src/server/gateway/formats/openai-chat/read-request.ts'
import { responsesClient } from '../../../src/server/gateway/formats/openai-responses/read-request.ts'
import { createKeyring } from '../../../src/server/platform/encryption.ts'
import { deploymentAt, targetAt } from '../../support/gateway/gateway-app.ts'

/** Long, and full of what JSON escapes. */
const long = (name: string): string => `${name}: ${'"quoted" \\back\\ \n\ttab é 😀 \u0001 {"a":[1]} '.repeat(60)}.`
const padding = 'p'.repeat(40_000)
const schema = { type: 'object', properties: { content: { type: 'string' } } }

const kinds: readonly (readonly [kind: CallKind, client: ClientFormat, request: object])[] = [
  [
    'messages',
    anthropicClient,
    {
      model: 'm',
      max_tokens: 100,
      system: [{ type: 'text', text: long('system') }],
      tools: [{ name: 'write', description: long('tool'), input_schema: schema }],
      messages: [
        { role: 'user', content: long('question') },
        {
          role: 'assistant',
          content: [
            { type: 'text', text: long('answer') },
            { type: 'tool_use', id: 'toolu_1', name: 'write', input: { content: long('file'), text: long('note') } },
            { type: 'tool_use', id: 'toolu_2', name: 'write', input: { content: 'short' } },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'toolu_1', content: long('result') },
            { type: 'tool_result', tool_use_id: 'toolu_2', content: [{ type: 'text', text: long('inner') }] },
            { type: 'text', text: padding },
            { type: 'text', text: `${long('more')} \n` },
          ],
        },
      ],
    },
  ],
  [
    'chat',
    chatClient,
    {
      model: 'm',
      tools: [{ type: 'function', function: { name: 'write', description: long('tool'), parameters: schema } }],
      messages: [
        { role: 'system', content: long('system') },
        {
          role: 'user',
          content: [
            { type: 'text', text: long('question') },
            { type: 'text', text: padding },
          ],
        },
        {
          role: 'assistant',
          content: long('answer'),
          tool_calls: [
            {
              id: 'call_1',
              type: 'function',
              function: { name: 'write', arguments: JSON.stringify({ content: long('file') }) },
            },
          ],
        },
        { role: 'tool', tool_call_id: 'call_1', content: long('result') },
      ],
    },
  ],
  [
    'responses',
    responsesClient,
    {
      model: 'm',
      instructions: long('instructions'),
      tools: [{ type: 'function', name: 'write', description: long('tool'), parameters: schema }],
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_text', text: long('question') },
            { type: 'input_text', text: padding },
          ],
        },
        { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: long('answer') }] },
        { type: 'function_call', call_id: 'call_1', name: 'write', arguments: JSON.stringify({ text: long('file') }) },
        { type: 'function_call_output', call_id: 'call_1', output: long('result') },
        { role: 'user', content: long('more') },
      ],
    },
  ],
  [
    'gemini',
    geminiClient,
    {
      systemInstruction: { parts: [{ text: long('system') }] },
      tools: [{ functionDeclarations: [{ name: 'write', description: long('tool'), parameters: schema }] }],
      contents: [
        { role: 'user', parts: [{ text: long('question') }, { text: padding }] },
        {
          role: 'model',
          parts: [{ text: long('answer') }, { functionCall: { name: 'write', args: { content: long('file') } } }],
        },
        { role: 'user', parts: [{ functionResponse: { name: 'write', response: { content: long('result') } } }] },
      ],
    },
  ],
]

const google = { project: 'p', location: 'global', serviceAccount: undefined }
const protocols = Object.keys(codecs) as (keyof typeof codecs)[]

/** What goes to the upstream for a request; `isLifted`: whether its long texts stay bytes on the way. */
async function written(
  [kind, client, request]: (typeof kinds)[number],
  { protocol, isLifted }: { readonly protocol: keyof typeof codecs; readonly isLifted: boolean },
): Promise<unknown> {
  let sent: unknown
  const adapter = createTranslation({
    client,
    codec: codecs[protocol],
    signers: createReasoningSigners(createKeyring([Buffer.alloc(32, 1)])),
    callSignatures: createCallSignatures(),
    pingAfterMs: 60_000,
    bufferMs: 60_000,
    onRepair: () => undefined,
    send({ body, exchange }) {
      sent = JSON.parse(joined(body as Buffer | readonly Buffer[]).toString())
      exchange.failUnsent(new Error('sent'))
      return exchange.result
    },
  })
  const body = Buffer.from(JSON.stringify(request))
  const address = kind === 'gemini' ? { model: 'm', stream: false } : undefined
  const parsed = readRequest({ kind, body, ...(address && { address }) })
  assert.ok((parsed.members?.long?.length ?? 0) > 3)
  const attempt: Attempt = {
    call: {
      kind,
      body,
      ...(address && { address }),
      headers: {},
      query: '',
      requestId: 'req_1',
      caller: { principal: 'master', key: undefined },
      signal: new AbortController().signal,
    },
    parsed: isLifted ? parsed : { ...parsed, members: undefined as never },
    target: targetAt(deploymentAt('http://127.0.0.1:1', { protocols: [protocol], google }), 'some-model'),
    ownHeaders: {},
    startedMs: 0,
  }
  const sink: Sink = { head: () => undefined, data: () => true, onDrain: () => undefined, end: () => undefined }
  await assert.rejects(adapter(attempt, sink), /^Error: sent$/)
  return sent
}

for (const given of kinds) {
  for (const protocol of protocols) {
    test(`${given[0]} to ${protocol}: long texts that stay bytes give the same request`, async () => {
      const plain = await written(given, { protocol, isLifted: false })
      assert.ok(JSON.stringify(plain).length > padding.length)
      assert.deepEqual(await written(given, { protocol, isLifted: true }), plain)
    })
  }
}

test('messages to bedrock-converse: the long text of a document, which goes as base64, is read', async () => {
  const source = { type: 'content', content: [{ type: 'text', text: long('document') }] }
  const content = [
    { type: 'document', title: 'd', source },
    { type: 'text', text: padding },
    { type: 'text', text: long('more') },
    { type: 'text', text: long('question') },
  ]
  const request = { model: 'm', max_tokens: 100, messages: [{ role: 'user', content }] }
  const sent = await written(['messages', anthropicClient, request], { protocol: 'bedrock-converse', isLifted: true })
  const [, bytes = ''] = /"bytes":"([^"]+)"/.exec(JSON.stringify(sent)) ?? []
  assert.equal(Buffer.from(bytes, 'base64').toString(), long('document'))
})
