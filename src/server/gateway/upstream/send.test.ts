import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { probeMode } from '../../../../test/support/gateway/adapter-probe.ts'
import { deploymentAt } from '../../../../test/support/gateway/gateway-app.ts'
import { simpleRequest } from '../../../../test/support/gateway/gateway-pair.ts'
import { jsonAnswer, startByteServer } from '../../../../test/support/upstream/byte-server.ts'
import { AppError } from '../../platform/errors.ts'
import { anthropicMessages } from '../passthrough/anthropic-messages.ts'
import type { Authorize } from './authorize.ts'

/** Passthrough whose credential comes from `authorize`. */
async function passthroughWith(authorize: Authorize, totalMs = 10_000) {
  let requests = 0
  const server = await startByteServer(socket => {
    requests++
    socket.end(jsonAnswer('{"type":"message","content":[]}'))
  })
  const timeouts = { connectMs: 1_000, firstByteMs: 1_000, idleMs: 1_000, totalMs }
  const probe = probeMode({ format: anthropicMessages, deployment: deploymentAt(server.url, { timeouts }), authorize })
  after(async () => {
    await probe.close()
    await server.stop()
  })
  return { call: probe.call, requests: () => requests }
}

test('a call waits for a credential that must be fetched', async () => {
  const { call } = await passthroughWith(async (_deployment, { headers }) => ({
    ...headers,
    authorization: 'Bearer late',
  }))
  assert.equal((await call('messages', simpleRequest)).status, 200)
})

test('a credential that cannot be fetched fails the call, and nothing is sent', async () => {
  const { call, requests } = await passthroughWith(() =>
    Promise.reject(new AppError('upstream_unreachable', 'no token')),
  )
  const { error } = await call('messages', simpleRequest)
  assert.deepEqual([error?.message, requests()], ['no token', 0])
})

test('E9: a client that disconnects while the credential is fetched aborts the call', async () => {
  const gone = new AbortController()
  const { call, requests } = await passthroughWith(() => {
    setImmediate(() => gone.abort())
    return new Promise(() => undefined)
  })
  const { ending } = await call('messages', simpleRequest, { signal: gone.signal })
  assert.deepEqual([ending?.outcome, requests()], ['aborted', 0])
})

test('the total timeout includes the time to fetch the credential', async () => {
  const { call } = await passthroughWith(() => new Promise(() => undefined), 50)
  assert.equal((await call('messages', simpleRequest)).error?.code, 'upstream_timeout')
})
