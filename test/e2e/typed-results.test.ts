import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createOpencodeClient } from '@opencode-ai/sdk/v2'
import type { Agent } from '../../src/contract/agents.ts'
import type { SessionEvent } from '../../src/contract/events.ts'
import type { Prompt } from '../../src/contract/prompts.ts'
import type { AnsweredMessage, Session } from '../../src/contract/sessions.ts'
import { send } from '../support/service/send.ts'
import { saying, startScriptedService } from '../support/upstream/scripted-service.ts'

const { service, upstream } = await startScriptedService()

const schema = {
  type: 'object',
  properties: { severity: { enum: ['low', 'high'] }, files: { type: 'array', items: { type: 'string' } } },
  required: ['severity', 'files'],
  additionalProperties: false,
}
const fits = { severity: 'high', files: ['a.ts'] }

const call = (line: string, body?: unknown) => send(service, line, body === undefined ? {} : { body })

async function newSession(body: object = {}): Promise<string> {
  const answer = await call('POST /session', body)
  assert.equal(answer.status, 200, answer.text)
  return answer.json<Session>().id
}

const asked = (text: string, fields: object = {}) => ({
  model: { modelID: 'scripted' },
  parts: [{ type: 'text', text }],
  ...fields,
})

async function say(id: string, text: string, fields: object = {}): Promise<AnsweredMessage> {
  const answer = await call(`POST /session/${id}/message`, asked(text, fields))
  assert.equal(answer.status, 200, answer.text)
  return answer.json<AnsweredMessage>()
}

const eventsOf = async (id: string) =>
  (await call(`GET /v1/sessions/${id}/events?limit=1000`)).json<{ data: SessionEvent[] }>().data

test('a prompt with a schema is answered with a result that fits it, on the event and in the answer', async () => {
  const id = await newSession()
  const answer = await say(id, saying({ text: JSON.stringify(fits) }), { output_schema: schema })
  assert.deepEqual(answer.result, fits)
  assert.deepEqual(answer.info['structured'], fits)
  assert.deepEqual((await eventsOf(id)).at(-1)?.result, fits)
  assert.match(JSON.stringify(upstream.requests.at(-1)?.body), /fits the JSON Schema below/)
  const { data } = (await call(`GET /session/${id}/prompts`)).json<{ data: Prompt[] }>()
  assert.deepEqual(data[0]?.output_schema, schema)
  const plain = await say(id, saying({ text: 'Just words.' }))
  assert.equal('result' in plain, false)
  assert.doesNotMatch(JSON.stringify(upstream.requests.at(-1)?.body), /fits the JSON Schema below/)
})

test('the model has one more try; then the prompt fails, with the place of the error', async () => {
  const id = await newSession()
  const repaired = saying({ text: '{"severity":"huge","files":[]}' }, { text: JSON.stringify(fits) })
  assert.deepEqual((await say(id, repaired, { output_schema: schema })).result, fits)
  const wrong = saying({ text: 'High, I think.' }, { text: '{"severity":"huge","files":[]}' })
  const failed = await say(id, wrong, { output_schema: schema })
  assert.equal('result' in failed, false)
  const error = failed.info['error'] as { name: string; data: { message: string } }
  assert.equal(error.name, 'StructuredOutputError')
  assert.match(error.data.message, /severity must be equal to one of the allowed values \["low","high"\]/)
  const kinds = (await eventsOf(id)).filter(({ type }) => type === 'session.error')
  assert.deepEqual(
    kinds.map(event => (event.error as { retry_status: { type: string } }).retry_status.type),
    ['retrying', 'retrying', 'terminal'],
  )
})

test('an agent has a schema for all its prompts, and a prompt may have another', async () => {
  const made = await call('POST /api/agents', {
    name: 'Typed',
    owner_id: 'ana',
    model: 'scripted',
    config: { output_schema: schema },
  })
  assert.ok(made.status < 300, made.text)
  const id = await newSession({ agent_id: made.json<Agent>().id })
  assert.deepEqual((await say(id, saying({ text: JSON.stringify(fits) }))).result, fits)
  const other = { type: 'array', items: { type: 'integer' } }
  assert.deepEqual((await say(id, saying({ text: '[1,2]' }), { output_schema: other })).result, [1, 2])
})

const refusals: readonly [string, unknown, RegExp][] = [
  ['no schema', { type: 'objekt' }, /output_schema is not a valid JSON Schema/],
  [
    'a reference elsewhere',
    { $ref: 'https://example.com/a' },
    /output_schema is not a valid JSON Schema.*example\.com/,
  ],
  ['text', 'object', /output_schema must be object/],
]

for (const [what, output_schema, words] of refusals) {
  test(`output_schema as ${what} is rejected by name, in prompts and in agents`, async () => {
    const id = await newSession()
    const prompt = await call(`POST /session/${id}/message`, asked('Go', { output_schema }))
    assert.equal(prompt.status, 400)
    assert.match(prompt.text, words)
    const agent = { name: 'A', owner_id: 'ana', model: 'scripted', config: { output_schema } }
    const refused = await call('POST /api/agents', agent)
    assert.equal(refused.status, 400)
    assert.match(refused.text, /config\.output_schema/)
    assert.deepEqual((await call(`GET /session/${id}/prompts`)).json<{ data: unknown[] }>().data, [])
  })
}

test('the opencode client asks for a schema in its own format', async () => {
  const client = createOpencodeClient({
    baseUrl: service.url,
    headers: { authorization: `Bearer ${service.key}` },
    throwOnError: true,
  })
  const sessionID = await newSession()
  const { data } = await client.session.prompt({
    sessionID,
    model: { providerID: 'switchyard', modelID: 'scripted' },
    parts: [{ type: 'text', text: saying({ text: JSON.stringify(fits) }) }],
    format: { type: 'json_schema', schema },
  })
  assert.deepEqual(data?.info.structured, fits)
})
