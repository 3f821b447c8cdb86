import assert from 'node:assert/strict'
import { test } from 'node:test'
import { holderOf } from '../support/keys/virtual-keys.ts'
import { eventually } from '../support/service/eventually.ts'
import { startService } from '../support/service/service.ts'

const service = await startService()
const ada = await holderOf(service, { owner_id: 'ada' })
const { origin } = new URL(service.url)

/** Sends a request as a page of the service does in a browser. */
async function fromPage(
  line: string,
  { cookie = '', body, headers = {} }: { cookie?: string | undefined; body?: object; headers?: object } = {},
) {
  const [method = '', path = ''] = line.split(' ')
  const response = await fetch(service.url + path, {
    method,
    headers: {
      'sec-fetch-site': 'same-origin',
      ...(method !== 'GET' && { origin, 'x-switchyard-console': '1' }),
      ...(body && { 'content-type': 'application/json' }),
      ...(cookie !== '' && { cookie }),
      ...headers,
    },
    ...(body && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  const setCookie = response.headers.get('set-cookie')
  return { status: response.status, json: text === '' ? undefined : JSON.parse(text), cookie: setCookie?.split(';')[0] }
}

test('a person signs in with a key, works with the cookie and signs out', async () => {
  const wrong = await fromPage('POST /api/sign-in', { body: { key: 'sk-wrong' } })
  assert.deepEqual([wrong.status, wrong.cookie], [401, undefined])

  const master = await fromPage('POST /api/sign-in', { body: { key: service.key } })
  assert.equal(master.status, 200)
  const { version, ...me } = master.json
  assert.match(version, /^\d/)
  const shown = { principal: 'master', role: 'admin', owner_id: null, key_id: null, user: null }
  assert.deepEqual(me, { ...shown, is_authentication_off: false, is_remembered: true })

  const { cookie } = await fromPage('POST /api/sign-in', { body: { key: ada.key } })
  const own = await fromPage('GET /api/me', { cookie })
  assert.deepEqual([own.json.principal, own.json.owner_id], ['ada', 'ada'])
  const made = await fromPage('POST /session', { cookie, body: { title: 'From a page' } })
  assert.equal(made.status, 200)
  assert.equal((await fromPage(`GET /session/${made.json.id}`, { cookie })).status, 200)

  const forged = await fromPage('POST /session', { cookie, body: {}, headers: { 'x-switchyard-console': '' } })
  assert.equal(forged.status, 403)
  assert.match(JSON.stringify(forged.json), /x-switchyard-console: 1/)
  const foreign = await fromPage('GET /api/me', { cookie, headers: { 'sec-fetch-site': 'cross-site' } })
  assert.equal(foreign.status, 403)

  const out = await fromPage('DELETE /api/sign-in', { cookie })
  assert.deepEqual([out.status, out.cookie], [204, '__Host-switchyard='])
  assert.equal((await fromPage('GET /api/me', { cookie: '__Host-switchyard=' })).status, 401)
})

test('a page over plain http of another host gets no cookie, because its browser would not keep it', async () => {
  const headers = { origin: 'http://switchyard.internal:4096' }
  const { status, json, cookie } = await fromPage('POST /api/sign-in', { body: { key: ada.key }, headers })
  assert.deepEqual([status, json.is_remembered, cookie], [200, false, undefined])
})

test('without authentication nobody has to sign in', async () => {
  const open = await startService({ key: null })
  const me = await fetch(`${open.url}/api/me`)
  assert.equal(((await me.json()) as { is_authentication_off: boolean }).is_authentication_off, true)
  const answer = await fetch(`${open.url}/api/sign-in`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ key: 'x' }),
  })
  assert.equal(answer.status, 400)
  assert.match(await answer.text(), /authentication is off/)
})

for (const [path, body] of [
  ['/v1/messages', { max_tokens: 100, messages: [{ role: 'user', content: 'hello' }] }],
  ['/v1/chat/completions', { messages: [{ role: 'user', content: 'hello' }] }],
  ['/v1/responses', { input: 'hello' }],
] as const)
  test(`S43: a page streams ${path} with the cookie, then reads cost, deployment and attempts of the call`, async () => {
    const { cookie = '' } = await fromPage('POST /api/sign-in', { body: { key: ada.key } })
    const ask = (headers: Readonly<Record<string, string>>) =>
      fetch(service.url + path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin', origin, cookie, ...headers },
        body: JSON.stringify({ model: 'demo', stream: true, ...body }),
      })
    const response = await ask({ 'x-switchyard-console': '1' })
    assert.equal(response.status, 200)
    assert.match(response.headers.get('content-type') ?? '', /^text\/event-stream/)
    assert.match(await response.text(), /^(event|data): /)
    const requestId = response.headers.get('x-switchyard-request-id') ?? ''
    const { json: call } = await eventually(async () => {
      const found = await fromPage(`GET /api/usage/calls/${requestId}`, { cookie })
      return found.status === 200 && found
    })
    assert.deepEqual(
      [call.request_id, call.owner_id, call.model, call.outcome, call.status, call.attempts, call.cost_usd],
      [requestId, 'ada', 'demo', 'completed', 200, 1, '0'],
    )
    assert.ok(call.deployment !== '' && call.output_tokens > 0)

    const forms: readonly Readonly<Record<string, string>>[] = [
      {},
      { 'x-switchyard-console': '1', origin: 'https://evil.example.com' },
      { 'x-switchyard-console': '1', 'sec-fetch-site': 'cross-site' },
    ]
    for (const headers of forms) assert.equal((await ask(headers)).status, 403)
  })
