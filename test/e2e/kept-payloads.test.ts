import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Delivery, DeliveryDetail } from '../../src/contract/webhooks.ts'
import { createKeyring } from '../../src/server/platform/encryption.ts'
import { secretStore } from '../../src/server/secrets/store.ts'
import { temporaryFolder } from '../support/service/data-folder.ts'
import { freshDatabase } from '../support/service/database.ts'
import { eventually } from '../support/service/eventually.ts'
import { send } from '../support/service/send.ts'
import { type Service, startService } from '../support/service/service.ts'

const { url: databaseUrl, pool } = await freshDatabase()
const dataDir = temporaryFolder()
const [older, newer] = [1, 2].map(byte => Buffer.alloc(32, byte)) as [Buffer, Buffer]

let last: Service | undefined
after(() => last?.stop())

async function startWith(...keys: readonly Buffer[]): Promise<Service> {
  await last?.stop()
  const env = { SWITCHYARD_ENCRYPTION_KEY: keys.map(key => key.toString('base64')).join(',') }
  last = await startService({ databaseUrl, dataDir, env })
  return last
}

test('C7: payloads stored for replay are re-encrypted, and can be replayed with the new key alone', async () => {
  const first = await startWith(older)
  const body = { name: 'hooked', model: 'demo', owner_id: 'team', config: { webhook: {} } }
  const made = await send(first, 'POST /api/agents', { body })
  assert.equal(made.status, 201, made.text)
  const { id: agent_id } = made.json<{ id: string }>()
  const sent = await send(first, 'POST /api/deliveries', { body: { agent_id, payload: { word: 'canary' } } })
  assert.equal(sent.status, 201, sent.text)
  const { id } = sent.json<Delivery>()

  await startWith(newer, older)
  const { currentId } = createKeyring([newer])
  await eventually(async () => (await secretStore(pool).keyUse()).every(({ key_id }) => key_id === currentId))
  const last = await startWith(newer)
  assert.equal((await send(last, `GET /api/deliveries/${id}`)).json<DeliveryDetail>().payload, '{"word":"canary"}')
  const replayed = await send(last, `POST /api/deliveries/${id}/replay`)
  assert.equal(replayed.status, 201, replayed.text)
  assert.equal(replayed.json<Delivery>().status, 'accepted')
})
