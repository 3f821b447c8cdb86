import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import { connect } from 'node:net'
import { test } from 'node:test'
import { fastify } from 'fastify'
import { createCloseServer } from './close-server.ts'

/** A server whose response to `/` waits for `finish`, and a keep-alive client. */
async function slowServer() {
  const app = fastify({ keepAliveTimeout: 60_000, forceCloseConnections: 'idle' })
  const { promise: arrived, resolve: onArrival } = Promise.withResolvers<void>()
  const { promise: finished, resolve: finish } = Promise.withResolvers<void>()
  const closeServer = createCloseServer(app)
  app.get('/', async () => {
    onArrival()
    await finished
    return 'done'
  })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const agent = new Agent({ keepAlive: true })
  const sent = request(url, { agent }).end()
  const answered = once(sent, 'response').then(([response]) => text(response as IncomingMessage))
  await arrived
  return { url: new URL(url), closeServer, agent, answered, finish }
}

async function text(response: IncomingMessage): Promise<string> {
  let body = ''
  for await (const chunk of response.setEncoding('utf8')) body += chunk
  return body
}

/** Never resolves. */
const longerThanAnyTest = 24 * 3_600_000

test('a running request finishes, and its keep-alive connection does not delay the close', async t => {
  const { closeServer, agent, answered, finish } = await slowServer()
  t.after(() => agent.destroy())
  const closed = closeServer(longerThanAnyTest)
  setImmediate(finish)
  assert.equal(await answered, 'done')
  await closed
})

test('a request that does not finish is aborted after the grace period', async t => {
  const { closeServer, agent, answered, finish } = await slowServer()
  t.after(() => agent.destroy())
  t.after(() => finish())
  const refused = assert.rejects(answered, { code: 'ECONNRESET' })
  await closeServer(50)
  await refused
})

test('an unused connection does not delay the close', async t => {
  const { url, closeServer, agent, answered, finish } = await slowServer()
  t.after(() => agent.destroy())
  const spare = connect(Number(url.port), url.hostname)
  await once(spare, 'connect')
  finish()
  await answered
  await Promise.all([closeServer(longerThanAnyTest), once(spare.resume(), 'close')])
})
