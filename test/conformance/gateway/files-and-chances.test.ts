import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dataFrame } from '../../support/upstream/dialects/dialect.ts'
import type { Answer } from '../../support/upstream/scripted-answer.ts'
import { startPair, translated } from './setup.ts'

const bare = { messages: undefined, max_tokens: undefined }
const chatFile = [{ role: 'user', content: [{ type: 'file', file: { file_id: 'file-1' } }] }]
const responsesFile = [{ role: 'user', content: [{ type: 'input_file', file_id: 'file-1' }] }]

/** Clients of one of OpenAI's formats before an upstream of the other. */
const crossed = [
  {
    client: 'chat',
    protocol: 'openai-responses',
    path: '/v1/chat/completions',
    file: { messages: chatFile },
    sentFile: /\{"type":"input_file","file_id":"file-1"\}/,
    chances: { logprobs: true, top_logprobs: 2 },
  },
  {
    client: 'responses',
    protocol: 'openai-chat',
    path: '/v1/responses',
    file: { ...bare, input: responsesFile },
    sentFile: /\{"type":"file","file":\{"file_id":"file-1"\}\}/,
    chances: { ...bare, input: 'hi', include: ['message.output_text.logprobs'], top_logprobs: 2 },
  },
] as const

for (const { client, protocol, path, file, sentFile } of crossed) {
  test(`F2, ${client} on ${protocol}: a file that OpenAI keeps is named by its id, at OpenAI and Azure alone`, async t => {
    for (const provider of ['openai', 'azure']) {
      const { post, sentText } = await startPair(t, protocol, { script: [{}], changes: { provider } })
      const response = await post(file, { path })
      assert.equal(response.status, 200, await response.text())
      assert.match(sentText(), sentFile)
    }
    const other = await startPair(t, protocol, { script: [{}], changes: { provider: 'openai-compatible' } })
    const refused = await other.post(file, { path })
    assert.equal(refused.status, 400)
    assert.match(await refused.text(), /file_id: stored files are not supported for this model; send the file data/)
  })
}

for (const protocol of translated.filter(name => !name.startsWith('openai-'))) {
  test(`F2, ${protocol}: a file that OpenAI keeps is rejected by its place`, async t => {
    const { post } = await startPair(t, protocol, { script: [{}] })
    const response = await post({ messages: chatFile }, { path: '/v1/chat/completions' })
    assert.equal(response.status, 400)
    assert.match(await response.text(), /messages\.0\.content\.0\.file\.file_id: stored files are not supported/)
  })
}

const chance = (token: string) => ({
  token,
  logprob: -0.5,
  bytes: [...Buffer.from(token)],
  top_logprobs: [{ token, logprob: -0.5, bytes: [...Buffer.from(token)] }],
})
const tokens = ['Hel', 'lo']
const chances = tokens.map(chance)
const chatChunk = (choice: object) =>
  dataFrame({
    id: 'c',
    object: 'chat.completion.chunk',
    model: 'm',
    choices: [{ index: 0, finish_reason: null, ...choice }],
  })
const event = (type: string, fields: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`
const usage = { input_tokens: 5, output_tokens: 2, total_tokens: 7 }
const item = {
  ...{ id: 'msg_1', type: 'message', status: 'completed', role: 'assistant' },
  content: [{ type: 'output_text', text: 'Hello', annotations: [], logprobs: chances }],
}
const response = { id: 'resp_1', object: 'response', model: 'm', status: 'completed', output: [item], usage }
const place = { item_id: 'msg_1', output_index: 0, content_index: 0 }

const answers: Readonly<
  Record<(typeof crossed)[number]['protocol'], { readonly whole: Answer; readonly stream: Answer }>
> = {
  'openai-chat': {
    whole: {
      body: JSON.stringify({
        ...{ id: 'c', object: 'chat.completion', model: 'm' },
        choices: [
          {
            ...{ index: 0, finish_reason: 'stop', logprobs: { content: chances, refusal: null } },
            message: { role: 'assistant', content: 'Hello' },
          },
        ],
      }),
    },
    stream: {
      frames: [
        chatChunk({ delta: { role: 'assistant', content: '' }, logprobs: null }),
        ...tokens.map(token => chatChunk({ delta: { content: token }, logprobs: { content: [chance(token)] } })),
        chatChunk({ delta: {}, finish_reason: 'stop' }),
        'data: [DONE]\n\n',
      ],
    },
  },
  'openai-responses': {
    whole: { body: JSON.stringify(response) },
    stream: {
      frames: [
        event('response.created', { response: { ...response, status: 'in_progress', output: [] } }),
        event('response.output_item.added', { output_index: 0, item: { ...item, content: [] } }),
        ...tokens.map(token =>
          event('response.output_text.delta', { ...place, delta: token, logprobs: [chance(token)] }),
        ),
        event('response.output_text.done', { ...place, text: 'Hello', logprobs: chances }),
        event('response.output_item.done', { output_index: 0, item }),
        event('response.completed', { response }),
      ],
    },
  },
}

for (const { client, protocol, path, chances: asked } of crossed) {
  for (const stream of [false, true]) {
    test(`F2, ${client} on ${protocol}: the chances of tokens are asked for, and ${stream ? 'streamed' : 'told'} token by token`, async t => {
      const script = [answers[protocol][stream ? 'stream' : 'whole']]
      const changes = { provider: 'openai', upstreamModel: 'gpt-4.1' }
      const { post, sent } = await startPair(t, protocol, { script, changes })
      const answer = await post({ ...asked, stream }, { path })
      const text = await answer.text()
      assert.equal(answer.status, 200, text)
      assert.equal(answer.headers.get('x-switchyard-degraded'), null)
      const wanted = protocol === 'openai-chat' ? { logprobs: true } : { include: ['message.output_text.logprobs'] }
      for (const [field, value] of Object.entries({ ...wanted, top_logprobs: 2 }))
        assert.deepEqual(sent()[field], value)
      assert.deepEqual(toldIn(text, client, stream), chances)
    })
  }
}

/** The alternatives that an answer reports. */
function toldIn(text: string, client: 'chat' | 'responses', stream: boolean): readonly unknown[] {
  if (!stream) {
    const body = JSON.parse(text)
    return client === 'chat' ? body.choices[0].logprobs.content : body.output[0].content[0].logprobs
  }
  const lines = text.split('\n').filter(line => line.startsWith('data: {'))
  const events = lines.map(line => JSON.parse(line.slice(6)))
  if (client === 'chat') return events.flatMap(({ choices }) => choices[0]?.logprobs?.content ?? [])
  const deltas = events.filter(({ type }) => type === 'response.output_text.delta').flatMap(({ logprobs }) => logprobs)
  const [done] = events.filter(({ type }) => type === 'response.output_text.done')
  assert.deepEqual(done.logprobs, deltas)
  return deltas
}
