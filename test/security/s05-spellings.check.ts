// Requests every path in other spellings, with headers that name another path, without a key.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { everyPath } from '../../src/contract/api.ts'
import { spellingsOf } from '../support/service/path-spellings.ts'
import { open } from '../support/service/send.ts'
import { startService } from '../support/service/service.ts'

const { url } = await startService()
const closed = everyPath.filter(({ access }) => access !== 'public')
const isPublic = (path: string) =>
  everyPath.some(route => {
    const pattern = route.path.replaceAll('{path}', '.*').replaceAll(/\{\w+\}/g, '[^/]+')
    return route.access === 'public' && new RegExp(`^${pattern}$`).test(path.split(/[?#]/)[0] ?? '')
  })
const redirecting = [
  {},
  { 'x-original-url': '/health', 'x-rewrite-url': '/health' },
  { host: 'localhost', 'x-forwarded-host': 'localhost', 'x-forwarded-for': '127.0.0.1', 'x-forwarded-proto': 'https' },
]

test('S05: no route answers another spelling of its path without a key', async () => {
  let requests = 0
  for (const { method, path } of closed) {
    const filled = path.replaceAll('{version}', '1').replaceAll(/\{\w+\}/g, 'nothing_1')
    const spellings = spellingsOf(filled).filter(spelling => !isPublic(spelling))
    for (const [at, spelling] of [filled, ...spellings].entries()) {
      const headers = redirecting[at % redirecting.length] ?? {}
      const response = await open({ url }, `${method} ${spelling}`, { headers })
      response.destroy()
      const status = response.statusCode ?? 0
      assert.ok(status >= 400 && status < 500, `${method} ${spelling} answered ${status}`)
      requests++
    }
  }
  assert.ok(requests > 25 * closed.length, String(requests))
})
