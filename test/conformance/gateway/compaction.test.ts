import assert from 'node:assert/strict'
import { test } from 'node:test'
import OpenAI from 'openai'
import { everyProtocol } from '../../support/upstream/spoken-protocols.ts'
import { type Message, startPair } from './setup.ts'

type Json = Readonly<Record<string, unknown>>
interface Response {
  readonly object: string
  readonly status?: string
  readonly output: readonly (Json & { readonly type: string; readonly encrypted_content?: string })[]
  readonly usage: { readonly output_tokens: number }
  readonly error?: Message['error']
}

const path = '/v1/responses'
const look = { type: 'function', name: 'look', parameters: { type: 'object', properties: {} } }
const user = (text: string) => ({ type: 'message', role: 'user', content: [{ type: 'input_text', text }] })
const history = [
  user('first wish'),
  { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{}' },
  { type: 'function_call_output', call_id: 'call_1', output: 'a bridge' },
  { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'said before' }] },
  user('second wish'),
]
const bare = { messages: undefined, max_tokens: undefined, instructions: 'be brief', tools: [look] }
const trigger = { type: 'compaction_trigger' }
const summary = { text: 'SUMMARY of a bridge', thinking: 'unseen', usage: { input_tokens: 50, output_tokens: 7 } }

for (const protocol of everyProtocol.filter(name => name !== 'openai-responses')) {
  const begin = (t: Parameters<typeof startPair>[0], script: Parameters<typeof startPair>[2]['script']) =>
    startPair(t, protocol, { script })

  test(`P40, ${protocol}: a trigger gives exactly one compaction item, which the next request starts from`, async t => {
    const { post, sentText, app } = await begin(t, [summary, { text: 'on it' }])
    const response = await post(
      { ...bare, input: [...history, trigger], text: { format: { type: 'json_object' } } },
      { path },
    )
    const answer = (await response.json()) as Response
    assert.equal(answer.status, 'completed', JSON.stringify(answer))
    assert.deepEqual(
      answer.output.map(({ type }) => type),
      ['compaction'],
    )
    assert.match(sentText(), /Summarize the conversation so far/)
    assert.match(sentText(), /a bridge/)
    assert.doesNotMatch(sentText(), /compaction_trigger|json_object/)
    assert.deepEqual([app.booked.length, app.booked[0]?.output_tokens], [1, 7])

    const input = [history[0], answer.output[0], user('third wish')]
    const next = await post({ ...bare, input }, { path })
    assert.equal(next.status, 200, await next.clone().text())
    assert.match(sentText(), /first wish.*SUMMARY of a bridge.*third wish/s)
    assert.doesNotMatch(sentText(), /said before|second wish/)
    assert.equal(next.headers.get('x-switchyard-degraded'), null)
  })

  test(`P41, ${protocol}: in a stream the item is whole, and nothing else is said`, async t => {
    const { app } = await begin(t, [summary])
    const client = new OpenAI({ baseURL: `${app.url}/v1`, apiKey: 'any', maxRetries: 0 })
    const events = []
    const stream = await client.responses.create({
      ...{ model: 'test-model', stream: true },
      input: [...history, trigger] as OpenAI.Responses.ResponseInput,
    })
    for await (const event of stream) events.push(event)
    assert.deepEqual(
      events.map(({ type }) => type),
      [
        'response.created',
        'response.in_progress',
        'response.output_item.added',
        'response.output_item.done',
        'response.completed',
      ],
    )
    assert.deepEqual(
      events.map(({ sequence_number: number }) => number),
      events.map((_, at) => at),
    )
    const last = events.at(-1)
    assert.ok(last?.type === 'response.completed')
    assert.deepEqual(
      last.response.output.map(({ type }) => type),
      ['compaction'],
    )
  })

  test(`P42, ${protocol}: the endpoint gives the user's messages and the item, and takes them back`, async t => {
    const { post, sentText } = await begin(t, [summary, { text: 'SUMMARY of both' }])
    const compact = async (input: unknown) =>
      (await (await post({ ...bare, input }, { path: `${path}/compact` })).json()) as Response
    const first = await compact(history)
    assert.equal(first.object, 'response.compaction', JSON.stringify(first))
    assert.deepEqual(
      first.output.map(({ type, role }) => [type, role]),
      [
        ['message', 'user'],
        ['message', 'user'],
        ['compaction', undefined],
      ],
    )
    assert.equal(first.usage.output_tokens, 7)
    const second = await compact([...first.output, user('third wish')])
    assert.match(sentText(), /second wish.*SUMMARY of a bridge.*third wish.*Summarize the conversation/s)
    assert.equal(second.output.length, 4)
  })

  test(`P43, ${protocol}: what cannot be compacted is an error that reports why`, async t => {
    const { post, upstream } = await begin(t, [{ text: '' }])
    for (const [input, message] of [
      [undefined, /^input is required$/],
      [[], /^input must not be empty$/],
    ] as const) {
      const response = await post({ ...bare, input }, { path: `${path}/compact` })
      assert.equal(response.status, 400)
      assert.match(((await response.json()) as Response).error?.message ?? '', message)
    }
    const early = await post({ ...bare, input: [trigger, user('hi')] }, { path })
    assert.match(
      ((await early.json()) as Response).error?.message ?? '',
      /^input\.0: compaction_trigger must be the last item/,
    )
    assert.equal(upstream.requests.length, 0)
    const empty = await post({ ...bare, input: 'hi' }, { path: `${path}/compact` })
    assert.equal(empty.status, 502, await empty.text())
  })

  test(`P44, ${protocol}: an item of OpenAI's, which no other provider can read, is left out and reported`, async t => {
    const { post, sentText } = await begin(t, [{}])
    const input = [user('hi'), { type: 'compaction', encrypted_content: 'gAAAAA' }]
    const response = await post({ ...bare, input }, { path })
    assert.equal(response.status, 200)
    assert.match(response.headers.get('x-switchyard-degraded') ?? '', /input\.1=dropped/)
    assert.doesNotMatch(sentText(), /gAAAAA/)
  })
}

test('P45, openai-responses: summaries of other models are said, their thoughts are omitted, all else keeps its bytes', async t => {
  const other = await startPair(t, 'anthropic-messages', { script: [summary] })
  const answer = await other.post({ ...bare, input: [...history, trigger] }, { path })
  const [item] = ((await answer.json()) as Response).output
  const { post, sentText } = await startPair(t, 'openai-responses', { script: [{}] })
  const thought = { type: 'reasoning', summary: [], encrypted_content: 'syr1.e30' }
  const response = await post({ ...bare, input: [item, thought, user('third wish')], odd: 1.0 }, { path })
  assert.equal(response.status, 200, await response.clone().text())
  assert.match(response.headers.get('x-switchyard-degraded') ?? '', /input\.1=dropped/)
  assert.match(sentText(), /SUMMARY of a bridge.*third wish/s)
  assert.doesNotMatch(sentText(), /syr1|sys1/)
  const kept = { input: [trigger, { type: 'compaction', encrypted_content: 'gAAAAA' }] }
  await post({ ...bare, ...kept }, { path })
  assert.match(sentText(), /gAAAAA/)
})
