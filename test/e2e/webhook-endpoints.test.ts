import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import type { SessionEvent } from '../../src/contract/events.ts'
import type { ShownEndpoint } from '../../src/contract/webhook-endpoints.ts'
import { freshDatabase } from '../support/service/database.ts'
import { eventually } from '../support/service/eventually.ts'
import { send, type Target } from '../support/service/send.ts'
import { startService } from '../support/service/service.ts'

interface Told {
  readonly data: { readonly session_id: string; readonly event: SessionEvent }
}

const eventsOf = async (target: Target, id: string) =>
  (await send(target, `GET /v1/sessions/${id}/events?limit=1000`)).json<{ data: SessionEvent[] }>().data

const stops: (() => Promise<unknown>)[] = []
after(async () => {
  for (const stop of stops) await stop()
})
const { url: databaseUrl } = await freshDatabase()

test('every event of a session reaches the receiver in order, also when the service is killed in between', async () => {
  const received: Told[] = []
  let secret = ''
  let isSlow = true
  const receiver = createServer(async (request, response) => {
    const text = (await buffer(request)).toString()
    received.push(new Webhook(secret).verify(text, request.headers as Record<string, string>) as Told)
    // While it is slow, the service dies before it receives the answer.
    if (!isSlow) response.writeHead(204).end()
  })
  await new Promise<void>(resolve => receiver.listen(0, '127.0.0.1', resolve))
  const host = `127.0.0.1:${(receiver.address() as AddressInfo).port}`
  const options = { databaseUrl, config: JSON.stringify({ outbound: { allow: [host] } }) }
  let service = await startService(options)
  stops.push(async () => {
    await service.stop()
    receiver.closeAllConnections()
    receiver.close()
  })

  const refused = await send(service, 'POST /api/webhook-endpoints', { body: { url: 'http://127.0.0.1:1/hook' } })
  assert.equal(refused.status, 400, refused.text)
  const made = await send(service, 'POST /api/webhook-endpoints', { body: { url: `http://${host}/hook` } })
  assert.equal(made.status, 201, made.text)
  secret = made.json<ShownEndpoint>().secret
  const { id } = (await send(service, 'POST /session', { body: { prompt: 'hello' } })).json<{ id: string }>()
  await eventually(() => received.length > 0)
  await service.kill()
  isSlow = false
  service = await startService(options)
  const log = await eventually(async () => {
    const events = await eventsOf(service, id)
    return events.at(-1)?.type === 'session.status_idle' && events
  })
  await eventually(() => new Set(received.map(({ data }) => data.event.id)).size === log.length)
  const firsts = received.filter(
    ({ data }, at) => received.findIndex(other => other.data.event.id === data.event.id) === at,
  )
  assert.deepEqual(
    firsts.map(({ data }) => data.event),
    log,
  )
  assert.ok(received.length > log.length, 'the one whose answer was lost came again')
})
