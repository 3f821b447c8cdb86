import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { Type } from 'typebox'
import { route } from '../../contract/route.ts'
import { AppError } from '../platform/errors.ts'
import type { Log } from '../platform/log.ts'
import type { Authenticate } from './auth.ts'
import { bind } from './bind.ts'
import { masterCaller } from './caller.ts'
import { createServer } from './server.ts'

const hello = route({
  id: 'test.hello',
  method: 'GET',
  path: '/api/v1/hello',
  access: 'key',
  errorShape: 'plain',
  responses: { 200: Type.Object({ who: Type.String() }) },
  summary: 'Greets',
  description: 'Greets the caller.',
})

/** A server with one route, and its error log. */
function helloApp(authenticate: Authenticate) {
  const errors: unknown[] = []
  const write = () => {}
  const log = { error: (_fields: unknown, text: unknown) => errors.push(text), warn: write, fatal: write } as unknown
  const app = createServer({ authenticate, log: log as Log })
  bind(app, hello, async (_input, { principal }) => ({ who: principal }))
  return { app, errors }
}

const refused = new AppError('unauthorized', 'unauthorized')
const ada = { ...masterCaller, principal: 'ada' }
const callers: readonly (readonly [string, Authenticate, number])[] = [
  ['known at once', () => ada, 200],
  ['known after a lookup', async () => ada, 200],
  [
    'refused at once',
    () => {
      throw refused
    },
    401,
  ],
  ['rejected after a lookup', () => Promise.reject(refused), 401],
]

for (const [name, authenticate, status] of callers) {
  test(`GET: a caller ${name} gets ${status}, with the id of the request`, async () => {
    const answer = await helloApp(authenticate).app.inject({ method: 'GET', url: '/api/v1/hello' })
    assert.equal(answer.statusCode, status)
    assert.match(String(answer.headers['request-id']), /^req_[0-9a-f]{32}$/)
    if (status === 200) assert.deepEqual(answer.json(), { who: 'ada' })
  })
}

test('an error of a handler that hijacked its response is logged', async () => {
  const { app, errors } = helloApp(() => ada)
  app.get('/late', async (_request, reply) => {
    reply.hijack()
    reply.raw.end('done')
    throw new Error('too late')
  })
  const { body } = await app.inject({ method: 'GET', url: '/late' })
  assert.equal(body, 'done')
  assert.deepEqual(errors, ['Promise errored, but reply.sent = true was set'])
})

test('L2: a connection with unfinished headers is closed after the headers timeout, not after the request timeout', async t => {
  const { app } = helloApp(() => ada)
  await app.listen({ port: 0, host: '127.0.0.1' })
  t.after(() => app.close())
  assert.ok(app.server.headersTimeout < app.server.requestTimeout)
  const startedMs = performance.now()
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1')
  await once(socket, 'connect')
  socket.write('GET /api/v1/hello HTTP/1.1\r\nhost: localhost\r\nx-slow: ')
  assert.match(await text(socket), /^HTTP\/1\.1 408 /)
  assert.ok(performance.now() - startedMs < app.server.requestTimeout, 'the headers have a separate timeout')
})
