// Acts as a page of another origin in the browser of someone whose service runs without a key. Every route with access for
// keys is attacked: as a form, as a request without a body, as a link, from another port and another scheme.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { everyPath } from '../../src/contract/api.ts'
import { send } from '../support/service/send.ts'
import { startService } from '../support/service/service.ts'

const service = await startService({ key: null })
const { host, port } = new URL(service.url)
const pages: readonly Readonly<Record<string, string>>[] = [
  { origin: 'http://localhost:3000', 'sec-fetch-site': 'same-site' },
  { origin: 'http://localhost:3000' },
  { origin: `https://${host}` },
  { origin: `http://localhost:${port}` },
  { origin: 'null' },
  { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' },
  { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' },
  { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'navigate' },
]

test('M7: no route that needs a key answers a page of another origin', async () => {
  const keyed = everyPath.filter(({ access }) => access !== 'public' && access !== 'webhook')
  assert.ok(keyed.length > 50)
  for (const { method, path } of keyed) {
    const line = `${method} ${path.replaceAll(/\{\w+\}/g, 'x')}`
    for (const headers of pages) {
      const answer = await send(service, line, { headers: { host, ...headers } })
      assert.equal(answer.status, 403, `${line} ${JSON.stringify(headers)}`)
    }
  }
})

test('M7: public pages open by a link of another site, and our own pages may call', async () => {
  const link = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' }
  assert.equal((await send(service, 'GET /docs', { headers: link })).status, 200)
  const own = { host, origin: `http://${host}`, 'sec-fetch-site': 'same-origin' }
  assert.equal((await send(service, 'GET /api/agents', { headers: own })).status, 200)
})
