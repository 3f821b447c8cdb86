import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../../test/support/service/eventually.ts'
import { startWebhookEndpointsApp } from '../../../test/support/triggers/webhook-endpoints-app.ts'

const app = await startWebhookEndpointsApp()
const { call, startReceiver, startReplica, made, newSession, append, deliveriesOf } = app
const sessions = await Promise.all(Array.from({ length: 4 }, () => newSession()))
const appendToAll = () => Promise.all(sessions.map(session => append(session, 'a.one', 'a.two', 'a.three')))

test('deleting an endpoint during deliveries never deadlocks', async t => {
  let remove = (): unknown => undefined
  const receiver = await startReceiver(() => {
    remove()
    return 200
  })
  for (let replicas = 0; replicas < 2; replicas++) await startReplica(t)
  for (let round = 0; round < 25; round++) {
    const { id } = await made({ url: receiver.url })
    const deletion = new Promise<number>(resolve => {
      let answers = 0
      // During the settlements, at a different point in each round.
      remove = () => {
        if (++answers !== 1 + (round % 5)) return
        resolve(call('ana', `DELETE /api/webhook-endpoints/${id}`).then(({ status }) => status))
      }
    })
    await appendToAll()
    assert.equal(await deletion, 200, `round ${round}`)
  }
})

test('several sessions get status 410 concurrently, and each attempt is recorded', async t => {
  const receiver = await startReceiver(() => 410)
  await startReplica(t)
  for (let round = 0; round < 10; round++) {
    const { id } = await made({ url: receiver.url })
    const before = receiver.requests.length
    await appendToAll()
    await eventually(async () => {
      const { body } = await call('ana', `GET /api/webhook-endpoints/${id}`)
      return body['status'] === 'disabled' && (await deliveriesOf(id)).length === receiver.requests.length - before
    })
  }
})
