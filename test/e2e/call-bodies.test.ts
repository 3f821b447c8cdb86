import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { holderOf } from '../support/keys/virtual-keys.ts'
import { freshDatabase } from '../support/service/database.ts'
import { send } from '../support/service/send.ts'
import { startService } from '../support/service/service.ts'
import { markerScript } from '../support/upstream/marker-script.ts'
import { saying } from '../support/upstream/scripted-service.ts'
import { startScriptedUpstream } from '../support/upstream/scripted-upstream.ts'

interface Side {
  readonly content_type: string | null
  readonly body: string | null
  readonly truncated: boolean
}
interface Bodies {
  readonly request_id: string
  readonly key_id: string | null
  readonly model: string
  readonly request: Side
  readonly response: Side & { readonly status: number | null }
}

const credential = 'sk-upstream-0123456789'
const hour = 60 * 60 * 1_000
const soon = () => new Date(Date.now() + hour).toISOString()
const upstream = await startScriptedUpstream({ script: request => markerScript(request) })
const at = (name: string, more: object = {}) => ({
  model_name: name,
  params: { model: `anthropic/${name}`, api_base: upstream.url, api_key: credential, ...more },
})
const { url: databaseUrl, pool: database } = await freshDatabase()
const service = await startService({
  databaseUrl,
  config: JSON.stringify({
    model_list: [
      at('plain'),
      at('recorded', { log_bodies: { until: soon() } }),
      at('past', { log_bodies: { until: '2026-01-01T00:00:00Z' } }),
    ],
    outbound: { allow: [new URL(upstream.url).host] },
  }),
})
after(async () => {
  await service.stop()
  await upstream.stop()
})

const recorder = await holderOf(service, { label: 'recorder', log_bodies: { until: soon() } })
const plain = await holderOf(service, { label: 'plain' })

const body = (model: string, text: string, more: object = {}) =>
  JSON.stringify({ model, max_tokens: 50, messages: [{ role: 'user', content: text }], ...more })
const read = async (id: string, reader: Parameters<typeof send>[0] = service) =>
  send(reader, `GET /api/usage/calls/${id}/bodies`)
const recordedOf = async (id: string) => {
  const answer = await read(id)
  assert.equal(answer.status, 200, answer.text)
  return answer.json<Bodies>()
}
const idOf = ({ headers }: Awaited<ReturnType<typeof send>>) => String(headers['x-switchyard-request-id'])

const formats = [
  ['/v1/messages', body('plain', 'a question')],
  ['/v1/messages', body('plain', 'a question', { stream: true })],
  ['/v1/chat/completions', body('plain', 'a question', { stream: true })],
  ['/v1/responses', JSON.stringify({ model: 'plain', input: 'a question' })],
  [
    '/v1beta/models/plain:generateContent',
    JSON.stringify({ contents: [{ role: 'user', parts: [{ text: 'a question' }] }] }),
  ],
] as const
for (const [path, sent] of formats) {
  test(`POST ${path} of a key that wants it is recorded, as it came and as it went: ${sent}`, async () => {
    const answer = await send(recorder, `POST ${path}`, { body: sent })
    assert.equal(answer.status, 200, answer.text)
    const { model, request, response, key_id } = await recordedOf(idOf(answer))
    assert.deepEqual([model, request.body, response.status, response.body], ['plain', sent, 200, answer.text])
    assert.equal(response.content_type, answer.headers['content-type'])
    assert.ok(key_id)
  })
}

test('nothing is recorded unless a key or the model that answers wants it, and its time is not over', async () => {
  for (const model of ['plain', 'past']) {
    const answer = await send(plain, 'POST /v1/messages', { body: body(model, 'private') })
    const found = await read(idOf(answer))
    assert.equal(found.status, 404)
    assert.match(
      found.text,
      /bodies of call req_\w+ are not recorded; set log_bodies of a key or a model to record later calls/,
    )
  }
  const answer = await send(plain, 'POST /v1/messages', { body: body('recorded', 'a question') })
  assert.match((await recordedOf(idOf(answer))).request.body ?? '', /a question/)
})

test('an error is recorded with its words; a count is not', async () => {
  const refused = await send(recorder, 'POST /v1/messages', { body: body('nothing', 'hi') })
  const { response } = await recordedOf(idOf(refused))
  assert.equal(response.status, refused.status)
  assert.match(response.body ?? '', /nothing/)
  const count = await send(recorder, 'POST /v1/messages/count_tokens', { body: body('plain', 'hi') })
  assert.equal((await read(idOf(count))).status, 404)
})

test('credentials are masked, long bodies are truncated, and stored bodies are encrypted', async () => {
  const said = `${credential} and {"api_key": "hidden words"} ${'and more '.repeat(40_000)}`
  const answer = await send(recorder, 'POST /v1/messages', { body: body('plain', said) })
  const { request } = await recordedOf(idOf(answer))
  assert.equal(request.truncated, true)
  assert.doesNotMatch(request.body ?? '', /upstream-0123|hidden words/)
  assert.match(request.body ?? '', /\[secret\] and/)
  const { rows } = await database.query('select sealed from call_bodies')
  for (const { sealed } of rows) assert.ok(!(sealed as Buffer).includes('question'))
})

test('only admins read, an owner’s admin their own; each reading is in the audit log', async () => {
  const answer = await send(recorder, 'POST /v1/messages', { body: body('plain', saying({ text: 'hi' })) })
  const id = idOf(answer)
  assert.equal((await read(id, recorder)).status, 403)
  const foreign = await holderOf(service, { label: 'foreign', role: 'admin', owner_id: 'team-b' })
  assert.equal((await read(id, foreign)).status, 404)
  const limited = await holderOf(service, { label: 'limited', role: 'admin', max_budget: 5 })
  assert.equal((await read(id, limited)).status, 404)
  await recordedOf(id)
  const log = await send(service, `GET /api/audit?action=call_bodies.read&object_id=${id}`)
  assert.equal(log.json<{ entries: unknown[] }>().entries.length, 1)

  assert.equal((await send(foreign, `DELETE /api/usage/calls/${id}/bodies`)).status, 404)
  assert.equal((await send(service, `DELETE /api/usage/calls/${id}/bodies`)).status, 204)
  assert.equal((await read(id)).status, 404)
})

test('the end of a recording is checked, and null ends it', async () => {
  const change = (log_bodies: unknown) => send(service, 'POST /api/keys', { body: JSON.stringify({ log_bodies }) })
  for (const [given, message] of [
    [{ until: '2020-01-01T00:00:00Z' }, /log_bodies\.until is in the past/],
    [{ until: new Date(Date.now() + 91 * 24 * hour).toISOString() }, /more than 90 days/],
    [{ until: 'tomorrow' }, /log_bodies/],
    [{}, /log_bodies/],
  ] as const) {
    const answer = await change(given)
    assert.equal(answer.status, 400)
    assert.match(answer.text, message)
  }
  const made = (await change({ until: soon() })).json<{ id: string; log_bodies: object }>()
  assert.ok(made.log_bodies)
  const off = await send(service, `PATCH /api/keys/${made.id}`, { body: '{"log_bodies":null}' })
  assert.equal(off.json<{ log_bodies: unknown }>().log_bodies, null, off.text)
})
