import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contextCompacted, type SessionEvent } from '../../src/contract/events.ts'
import type { OpencodeMessage, Session } from '../../src/contract/sessions.ts'
import { eventually } from '../support/service/eventually.ts'
import { send } from '../support/service/send.ts'
import { startEveryProtocol } from '../support/upstream/every-protocol.ts'
import type { Answer } from '../support/upstream/scripted-answer.ts'
import type { Recorded } from '../support/upstream/scripted-upstream.ts'
import { aliasOf, type SpokenProtocol } from '../support/upstream/spoken-protocols.ts'

const words = 'Much was said before. '.repeat(200)
const order = 'Write a summary of the conversation so far'

/** How providers refuse what is too long. */
const refusals: Readonly<Record<SpokenProtocol, string>> = {
  'anthropic-messages': 'prompt is too long: 210000 tokens > 200000 maximum',
  'openai-chat':
    "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.",
  'openai-responses': 'Your input exceeds the context window of this model. Please adjust your input and try again.',
  gemini: 'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
  'bedrock-converse': 'Input is too long for requested model.',
}

const isSummary = ({ rawBody }: Recorded): boolean => rawBody.includes(order)

/** A model that takes no long conversation, rejects it in the words that the prompt names, and knows of a number what it reads. */
function script(request: Recorded): Answer {
  const said = request.rawBody.toString()
  const usage = { input_tokens: Math.ceil(said.length / 4) }
  if (isSummary(request)) return { text: said.includes('17') ? 'The number is 17.' : 'Nothing was said.', usage }
  const refusal = /<<(.*)>>/.exec(said)?.[1]
  if (refusal !== undefined && said.split(words).length > 5) return { status: 400, error: refusal }
  return { text: said.includes('17') ? 'It is 17.' : 'Which number?', usage }
}

const { service, upstreams } = await startEveryProtocol({
  script,
  aliases: { small: 'openai-chat' },
  params: { small: { capabilities: { context_window: 4_000 } } },
})

async function ok<T>(line: string, body?: unknown): Promise<T> {
  const answer = await send(service, line, body === undefined ? {} : { body })
  assert.ok(answer.status < 300, `${line}: ${answer.status} ${answer.text}`)
  return answer.text === '' ? (undefined as T) : answer.json<T>()
}

const newSession = () => ok<Session>('POST /session', { title: 'A session' })
const say = (session: Session, model: string, text: string) =>
  ok<OpencodeMessage>(`POST /session/${session.id}/message`, {
    model: { modelID: model },
    parts: [{ type: 'text', text }],
  })
const eventsOf = async ({ id }: Session) =>
  (await ok<{ data: SessionEvent[] }>(`GET /v1/sessions/${id}/events?limit=1000`)).data
const textOf = ({ parts }: OpencodeMessage) => parts.map(({ text = '' }) => text).join('')

for (const [protocol, refusal] of Object.entries(refusals) as [SpokenProtocol, string][]) {
  test(`a conversation that ${protocol} rejects as too long is compacted, and the prompt is answered`, async () => {
    const session = await newSession()
    const model = aliasOf(protocol)
    await say(session, model, `The number is 17. ${words.repeat(4)}`)
    const answer = await say(session, model, `Which number is it? <<${refusal}>> ${words}`)
    assert.equal(textOf(answer), 'It is 17.')
    const log = await eventsOf(session)
    const [compaction, more] = log.filter(event => contextCompacted(event))
    assert.deepEqual([compaction?.summary, compaction?.reason, more], ['The number is 17.', 'auto', undefined])
    assert.deepEqual(
      log.filter(({ type }) => type === 'session.error'),
      [],
    )
    const { requests } = upstreams[protocol]
    assert.deepEqual(requests.map(isSummary), [false, false, true, false])
    const last = requests.at(-1)?.rawBody.toString() ?? ''
    assert.ok(last.includes('The number is 17.') && last.includes('Which number is it?'))
    assert.equal(last.split(words).length, 2, 'the newest prompt is whole, the older one is summarized')
  })
}

const model = aliasOf('openai-chat')

test('POST /session/{id}/compact queues a compaction: 202, a summary in the log, its tokens and its row in the ledger', async () => {
  const session = await newSession()
  await say(session, model, 'The number is 17.')
  const answer = await send(service, `POST /session/${session.id}/compact`)
  assert.equal(answer.status, 202)
  const { prompt_id } = answer.json<{ prompt_id: string }>()
  const end = await eventually(async () =>
    (await eventsOf(session)).find(event => event.type === 'session.status_idle' && event.prompt_id === prompt_id),
  )
  assert.deepEqual(end.stop_reason, { type: 'end_turn' })
  const log = await eventsOf(session)
  const compaction = log.map(contextCompacted).find(Boolean)
  assert.equal(compaction?.reason, 'request')
  assert.ok((compaction?.tokens_after ?? 0) > 0 && (compaction?.tokens_before ?? 0) > 0)
  assert.equal(textOf(await say(session, model, 'Which?')), 'It is 17.')
  const requests = log.filter(({ type }) => type === 'span.model_request_start').length + 1
  await eventually(async () => {
    const { calls } = await ok<{ calls: unknown[] }>(`GET /api/usage/calls?session_id=${session.id}`)
    return calls.length === requests
  })
})

test('a window that the configuration states is never exceeded, however long the session', async () => {
  const session = await newSession()
  const { requests } = upstreams['openai-chat']
  const before = requests.length
  await say(session, 'small', `The number is 17. ${words.slice(0, 800)}`)
  for (let turn = 1; turn <= 9; turn++) await say(session, 'small', words.slice(0, 800))
  assert.equal(textOf(await say(session, 'small', 'Which number?')), 'It is 17.')
  const compactions = (await eventsOf(session)).filter(event => contextCompacted(event))
  assert.ok(compactions.length >= 1)
  for (const { body, rawBody } of requests.slice(before)) {
    const room = Number(body['max_completion_tokens'] ?? body['max_tokens'])
    assert.ok(
      room <= 1_000 && rawBody.length / 4 + room <= 4_000,
      `${rawBody.length} bytes, and ${room} tokens to answer`,
    )
  }
})

test('a repeated Idempotency-Key queues one compaction', async () => {
  const session = await newSession()
  const headers = { 'idempotency-key': 'once' }
  const [first, second] = await Promise.all(
    [1, 2].map(() => send(service, `POST /session/${session.id}/compact`, { headers })),
  )
  assert.deepEqual([first?.status, first?.text], [202, second?.text])
})

test('opencode’s summarize waits until it is done, and the messages show it', async () => {
  const session = await newSession()
  await say(session, model, 'The number is 17.')
  assert.equal(await ok(`POST /session/${session.id}/summarize`, { providerID: 'switchyard', modelID: model }), true)
  const messages = await ok<OpencodeMessage[]>(`GET /session/${session.id}/message`)
  const shown = messages.map(({ info, parts }) => [info['role'], parts[0]?.['type'], info['summary']])
  assert.deepEqual(shown.slice(2), [
    ['user', 'compaction', undefined],
    ['assistant', 'text', true],
  ])
})

test('a session whose runtime keeps its own context rejects: 409 by the name of the capability', async () => {
  const alias = 'remote'
  const harness = { alias, api_spec: 'opencode', api_base: upstreams.gemini.url, api_key: 'secret-key' }
  await ok('POST /api/runtime-harnesses', harness)
  const session = await ok<Session>('POST /session', { runtime: alias })
  for (const path of ['compact', 'summarize']) {
    const { status, text } = await send(service, `POST /session/${session.id}/${path}`)
    assert.equal(status, 409, text)
    assert.match(text, /its runtime remote manages its own context \(capability compaction\)/)
  }
  assert.equal((await send(service, 'POST /session/ses_nothing/compact')).status, 404)
})

test('a new session has nothing to compact, and reports it', async () => {
  const session = await newSession()
  assert.equal(await ok(`POST /session/${session.id}/summarize`), true)
  const end = (await eventsOf(session)).find(({ type }) => type === 'session.status_idle')
  assert.equal((end?.stop_details as { type: string } | null)?.type, 'nothing_to_compact')
})
