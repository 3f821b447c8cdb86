import assert from 'node:assert/strict'
import { test } from 'node:test'
import { everyProtocol } from '../../support/upstream/spoken-protocols.ts'
import { startPair } from './setup.ts'

const said = { role: 'user', content: 'hi' }
const brief = { role: 'developer', content: 'Be brief.' }
const closed = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'], additionalProperties: false }
const look = { name: 'look', strict: true, parameters: closed }
const named = { name: 'report', description: 'A report', strict: true, schema: closed }
const png = 'data:image/png;base64,iVBORw0KGgo='
const turns = [said, { role: 'assistant', content: 'yes?' }, brief, said]

interface Client {
  readonly path: string
  readonly native: string
  readonly turns: object
  readonly strictTool: object
  readonly jsonMode: object
  readonly schema: object
  readonly closeLook: object
  /** Of strict tools, instructions in the middle and details of images, as the client spells them. */
  readonly places: { readonly strict: string; readonly turn: string; readonly detail: string }
}

const clients: Readonly<Record<string, Client>> = {
  chat: {
    path: '/v1/chat/completions',
    native: 'openai-chat',
    turns: { messages: turns },
    strictTool: { tools: [{ type: 'function', function: look }] },
    jsonMode: { response_format: { type: 'json_object' } },
    schema: { response_format: { type: 'json_schema', json_schema: named } },
    closeLook: {
      messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: png, detail: 'high' } }] }],
    },
    places: {
      strict: 'tools.0.function.strict',
      turn: 'messages.2',
      detail: 'messages.0.content.0.image_url.detail',
    },
  },
  responses: {
    path: '/v1/responses',
    native: 'openai-responses',
    turns: { input: turns },
    strictTool: { tools: [{ type: 'function', ...look }] },
    jsonMode: { text: { format: { type: 'json_object' } } },
    schema: { text: { format: { type: 'json_schema', ...named } } },
    closeLook: { input: [{ role: 'user', content: [{ type: 'input_image', image_url: png, detail: 'high' }] }] },
    places: { strict: 'tools.0.strict', turn: 'input.2', detail: 'input.0.content.0.detail' },
  },
}

for (const [name, client] of Object.entries(clients)) {
  for (const protocol of everyProtocol.filter(one => one !== client.native)) {
    const isOpenAi = protocol === 'openai-chat' || protocol === 'openai-responses'
    const call = async (t: Parameters<typeof startPair>[0], body: object) => {
      const pair = await startPair(t, protocol, { script: [{}] })
      const prompt = name === 'chat' ? { messages: [said] } : { messages: undefined, input: [said] }
      const response = await pair.post({ max_tokens: undefined, ...prompt, ...body }, { path: client.path })
      assert.equal(response.status, 200, await response.text())
      return { sent: pair.sentText(), degraded: response.headers.get('x-switchyard-degraded') ?? '' }
    }

    test(`F2, ${name} on ${protocol}: instructions in the middle keep their role, or are marked and reported`, async t => {
      const { sent, degraded } = await call(t, client.turns)
      assert.match(sent, /Be brief\./)
      assert.equal(/"role":"system"/.test(sent), isOpenAi)
      assert.equal(degraded, isOpenAi ? '' : `${client.places.turn}=moved_to_user`)
    })

    test(`F2, ${name} on ${protocol}: strict tools stay strict, or are reported`, async t => {
      const { sent, degraded } = await call(t, client.strictTool)
      assert.equal(sent.includes('"strict":true'), isOpenAi)
      assert.equal(degraded.includes(`${client.places.strict}=dropped`), !isOpenAi)
    })

    test(`F2, ${name} on ${protocol}: JSON mode is a setting, or an instruction to the model`, async t => {
      const { sent, degraded } = await call(t, client.jsonMode)
      assert.equal(sent.includes('{"type":"json_object"}'), isOpenAi)
      assert.equal(sent.includes('Answer with one JSON object'), !isOpenAi)
      assert.equal(degraded.includes('=told_in_system'), !isOpenAi)
    })

    test(`F2, ${name} on ${protocol}: how closely an image is read is carried, or reported`, async t => {
      const { sent, degraded } = await call(t, client.closeLook)
      assert.ok(sent.includes('iVBORw0KGgo='), sent)
      assert.equal(sent.includes('"detail":"high"'), isOpenAi, sent)
      assert.equal(degraded, isOpenAi ? '' : `${client.places.detail}=dropped`)
    })

    test(`F2, ${name} on ${protocol}: safety_identifier names the caller, and user is reported beside it`, async t => {
      const { sent, degraded } = await call(t, { safety_identifier: 'caller-1', user: 'old-1' })
      assert.ok(!sent.includes('old-1'), sent)
      assert.ok(degraded.split(', ').includes('user=dropped'), degraded)
      // Gemini has no such field, and servers that are only compatible with OpenAI's Chat may refuse it.
      assert.equal(sent.includes('caller-1'), protocol !== 'gemini' && protocol !== 'openai-chat', sent)
    })

    if (isOpenAi)
      test(`F2, ${name} on ${protocol}: a schema keeps its name, its description and whether it is strict`, async t => {
        const { sent, degraded } = await call(t, client.schema)
        for (const part of ['"name":"report"', '"description":"A report"', '"strict":true'])
          assert.ok(sent.includes(part), sent)
        assert.equal(degraded, '')
      })
  }
}
