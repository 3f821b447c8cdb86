import assert from 'node:assert/strict'
import { test } from 'node:test'
import { holderOf } from '../support/keys/virtual-keys.ts'
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
  const shown = { principal: 'master', role: 'admin', owner_id: null, key_id: null, is_authentication_off: false }
  assert.deepEqual(me, { ...shown, is_remembered: true })

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
