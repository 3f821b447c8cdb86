import assert from 'node:assert/strict'
import { request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import type { Route } from '../../contract/route.ts'
import { createLog } from '../platform/log.ts'
import { masterCaller } from './caller.ts'
import { createServer } from './server.ts'

const route = (path: string): Route => ({
  id: `test.${path}`,
  method: 'POST',
  path,
  access: 'public',
  errorShape: 'plain',
  responses: { 200: null },
  summary: '',
  description: '',
})

const app = createServer({ authenticate: () => masterCaller, log: createLog('silent') })
app.addContentTypeParser('*', (_request, _payload, done) => done(null))
for (const path of ['/slow', '/usual']) {
  app.post(path, { config: { route: route(path) } }, async ({ raw, server }) => {
    const end = path === '/slow' ? server.slowBodies.allow(raw) : () => undefined
    let bytes = 0
    for await (const chunk of raw) bytes += (chunk as Buffer).length
    end()
    return { bytes }
  })
}
// The server looks for late requests every second.
app.server.requestTimeout = 200
app.server.headersTimeout = 200
await app.listen({ port: 0, host: '127.0.0.1' })
after(() => app.close())

/** Sends a part of a body, and the rest once `pause` has resolved. Resolves with the status. */
async function sendSlowly(path: string, pause?: Promise<unknown>): Promise<number> {
  const { port } = app.server.address() as AddressInfo
  const outgoing = request({ port, host: '127.0.0.1', path, method: 'POST', headers: { 'content-type': 'text/x' } })
  const status = new Promise<number>((resolve, reject) => {
    outgoing.once('response', response => resolve(response.resume().statusCode ?? 0))
    outgoing.once('error', reject)
  })
  outgoing.write('one')
  await (pause ?? status)
  outgoing.end('two')
  return status
}

test('only a body that may be slow outlives the time limit of requests', async () => {
  const slow = Promise.withResolvers<void>()
  const answered = sendSlowly('/slow', slow.promise)
  // Begun later and rejected: the time of the other one is over too.
  assert.equal(await sendSlowly('/usual'), 408)
  slow.resolve()
  assert.equal(await answered, 200)
})
